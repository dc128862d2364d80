// Browsers start no workers for pages that are opened as files. There the search runs in a hidden frame instead, which
// looks to the theme as a worker does.
class FrameWorker extends EventTarget {
  constructor(url) {
    super()
    this.frame = document.createElement("iframe")
    this.frame.hidden = true
    document.body.appendChild(this.frame)
    const inside = this.frame.contentWindow
    window.addEventListener("message", event => {
      if (event.source !== inside) return
      this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      if (this.onmessage) this.onmessage(event)
    })
    inside.document.open()
    inside.document.write(
      `<html><body><script>
        postMessage = data => parent.dispatchEvent(new MessageEvent("message", { data, source: window }))
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(done => {
          const script = document.createElement("script")
          script.src = url
          script.onload = done
          document.body.appendChild(script)
        })), Promise.resolve())
      <\/script><script src="${url}"><\/script></body></html>`
    )
    inside.document.close()
    this.ready = new Promise(done => { inside.onload = done })
  }
  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
  }
  terminate() { this.frame.remove() }
}
if (location.protocol === "file:") window.Worker = FrameWorker
