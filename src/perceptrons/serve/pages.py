from starlette.responses import HTMLResponse


def live():
    return HTMLResponse("x")


def docs():
    return HTMLResponse("x")
