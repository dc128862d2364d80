"""Numbers in words of the page."""


def percent(share: float) -> str:
    """98.6%; shares so near to 0 or 1 that they would be rounded there get more digits."""
    text = f"{100 * share:.1f}%"
    return f"{100 * share:.2f}%" if text in ("0.0%", "100.0%") and 0 < share < 1 else text


def count(number: int, thing: str, things: str | None = None) -> str:
    """1 example, 2,000 examples."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def seconds(number: float) -> str:
    """1 second, 0.5 seconds."""
    return f"{number:g} second{'s' * (number != 1)}"


def short(value: float) -> str:
    """A number of four digits, with the minus sign of print."""
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")
