"""How the page looks: on phones and desks, in light and dark rooms, and on paper. Nothing is loaded."""

STYLE = """
:root { --paper: #fff; --ink: #1c1c1e; --soft: #5a5a60; --line: #d6d6db; --panel: #f4f4f7; --link: #0b57a4;
  --bar: #3b7dbd; --for: #b4500a; --for-paper: #fde3cd; --against: #0b5f8a; --against-paper: #d3eaf7;
  --warn: #7a1f00; --warn-paper: #fff0e6; --right: 0, 114, 178; --wrong: 213, 94, 0; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #17171a; --ink: #ececf0; --soft: #a9a9b2; --line: #3c3c44; --panel: #212126; --link: #8ec2f5;
    --bar: #5c9bd6; --for: #ffb37a; --for-paper: #54300f; --against: #8fd0f2; --against-paper: #123c53;
    --warn: #ffc9a8; --warn-paper: #40200f; --right: 86, 160, 210; --wrong: 235, 120, 40; }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.2rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .2rem 0 .6rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-top: .5rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--link); }
a:focus-visible, [tabindex]:focus-visible, summary:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
.soft, figcaption, dt { color: var(--soft); }
.soft, figcaption { font-size: .92rem; }
nav { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; margin: 1.2rem 0; }
nav h2 { font-size: 1rem; margin: 0; padding: 0; border: 0; }
nav ol { margin: .3rem 0 0; padding-left: 1.6rem; columns: 16rem; }
nav li { break-inside: avoid; padding: .12rem 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); gap: .8rem;
  margin: 1rem 0; }
.card { background: var(--panel); border-radius: .5rem; padding: .7rem 1rem; }
.card b { display: block; font-size: 1.9rem; line-height: 1.25; }
.warning { background: var(--warn-paper); color: var(--warn); border-left: .35rem solid var(--warn);
  border-radius: .3rem; padding: .6rem .9rem; max-width: none; }
.facts { margin: .6rem 0; }
.facts div { display: grid; grid-template-columns: minmax(7rem, 13rem) 1fr; gap: .1rem 1rem; padding: .3rem 0;
  border-bottom: 1px solid var(--line); }
.facts dd { margin: 0; min-width: 0; }
.scroll { overflow-x: auto; max-width: 100%; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .95rem; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
.long tbody th { min-width: 8rem; }
.number { text-align: right; white-space: nowrap; }
td bdi, th bdi { overflow-wrap: anywhere; }
.bar { display: inline-block; width: clamp(4rem, 18vw, 12rem); height: .8em; background: var(--panel);
  border-radius: 2px; vertical-align: -.05em; }
.fill { display: block; height: 100%; background: var(--bar); border-radius: 2px; }
.fill.for { background: var(--for); }
.fill.against { background: var(--against); }
.confusion td, .confusion th { padding: .3rem .55rem; text-align: right; border: 1px solid var(--line); }
.confusion thead th { vertical-align: bottom; max-width: 7rem; }
.confusion tbody th { text-align: left; max-width: 9rem; }
.upright thead th:not(:first-child) { writing-mode: vertical-rl; text-align: left; padding: .5rem .3rem;
  white-space: nowrap; }
.classes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); gap: .4rem 2rem; }
.classes h3 { margin: .8rem 0 .2rem; }
.weights { width: 100%; table-layout: fixed; }
.weights th { width: 45%; font-weight: 400; }
.weights .number { width: 20%; }
.weights .bar { width: 100%; }
figure { margin: 1rem 0; }
.picture { display: block; width: auto; max-width: 100%; min-width: min(100%, 18rem); height: auto; background: #fff;
  border-radius: .4rem; }
figcaption { max-width: 46rem; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: .9rem; }
.mistakes.pictured { grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
article { background: var(--panel); border-radius: .5rem; padding: .7rem .9rem; min-width: 0; break-inside: avoid; }
article h3 { margin: 0 0 .3rem; font-size: 1rem; }
article p { margin: .25rem 0; }
article blockquote { margin: .4rem 0; padding: .4rem .7rem; background: var(--paper); border-radius: .3rem;
  white-space: pre-wrap; }
article table { font-size: .9rem; }
.pixels { image-rendering: pixelated; width: 7rem; max-width: 48%; height: auto; border: 1px solid var(--line);
  background: #fff; }
.strip { display: flex; flex-wrap: wrap; gap: .7rem; }
.strip figure { margin: 0; width: 5.5rem; }
.strip .pixels { width: 4rem; max-width: none; }
.pair { display: flex; gap: .5rem; margin: .4rem 0; }
mark { color: inherit; background: none; border-radius: 2px; padding: 0 .08em; }
mark.for { background: var(--for-paper); border-bottom: 2px solid var(--for); }
mark.against { background: var(--against-paper); border-bottom: 2px dotted var(--against); }
.say-for { color: var(--for); font-weight: 600; }
.say-against { color: var(--against); font-weight: 600; }
pre { background: var(--panel); border-radius: .4rem; padding: .7rem .9rem; overflow-x: auto; font-size: .88rem;
  line-height: 1.45; overflow-wrap: normal; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .95em; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); padding: .2rem 0; }
@media (max-width: 40rem) {
  main { padding: .8rem .8rem 3rem; }
  h1 { font-size: 1.4rem; }
  .facts div { grid-template-columns: 1fr; }
  .card b { font-size: 1.6rem; }
  table { font-size: .88rem; }
  th, td { padding-right: .5rem; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --panel: #f4f4f4; --soft: #444; --line: #bbb; }
  nav { display: none; }
  .scroll, pre { overflow: visible; }
  h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
}
"""
