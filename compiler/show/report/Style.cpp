// The style sheet of all pages.
#include "compiler/show/report/Style.h"

namespace dtc::html {

// Fills are light enough for dark letters on both backgrounds, and differ in lightness as well as
// in hue.
static constexpr llvm::StringLiteral kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f5f6f8; --text: #1a1f26; --muted: #57606c; --rule: #d9dee4;
  --grid: #e6e9ed; --accent: #0a58a8; --limit: #b3261e; --bubble: #e2e6eb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #13161b; --panel: #1b2027; --text: #e6e9ed; --muted: #9aa4b1; --rule: #333b45;
    --grid: #272e37; --accent: #7db7f5; --limit: #ff8a80; --bubble: #2c343e;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 69rem; background: var(--page);
  color: var(--text); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums;
}
h1 { font-size: 1.75rem; line-height: 1.2; font-weight: 650; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; line-height: 1.3; font-weight: 650; margin: 0 0 .75rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.25rem 0 .4rem; }
p { max-width: 46rem; margin: .4rem 0 .8rem; }
header p, .note, figcaption { color: var(--muted); }
section { margin-top: 2.75rem; padding-top: 1.5rem; border-top: 1px solid var(--rule); }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1.25rem 0; padding: 0; }
.figures div { background: var(--panel); border-radius: 6px; padding: .7rem .9rem; }
.figures dt { color: var(--muted); font-size: .85rem; }
.figures dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3; }
.figures small { display: block; color: var(--muted); font-size: .8rem; font-weight: 400; }
.bad dd { color: var(--limit); }
figure { margin: 1rem 0 1.5rem; }
figcaption { font-size: .88rem; max-width: 46rem; margin-top: .35rem; }
.drawing { overflow-x: auto; }
svg { display: block; }
.drawing svg { width: 100%; min-width: 40rem; height: auto; }
.half .drawing svg { min-width: 20rem; }
.half { display: grid; grid-template-columns: repeat(auto-fit, minmax(25rem, 1fr)); gap: 0 1.5rem; }
svg text { fill: var(--text); font-size: 12px; font-family: inherit; }
svg .tick { fill: var(--muted); font-size: 11px; }
svg .inside { fill: #14181d; font-size: 10px; }
svg .small { font-size: 11px; }
svg .strong { font-weight: 600; }
svg .limit-text { fill: var(--limit); font-size: 11px; }
svg .halo { paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
.grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--muted); stroke-width: 1; }
.limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 5 4; }
.bound { stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 2 3; }
.frontier { fill: none; stroke: var(--muted); stroke-width: 1.25; }
.row { fill: var(--bubble); }
.box { fill: none; stroke: var(--rule); stroke-width: 1; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; margin: .4rem 0 .6rem;
  padding: 0; font-size: .88rem; }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend svg { flex: none; }
.task-f { fill: #74aaf0; } .task-b { fill: #f2b05e; } .task-w { fill: #6fc39a; }
.task-f.odd { fill: #4f8fe4; } .task-b.odd { fill: #e5963a; } .task-w.odd { fill: #4aab7d; }
.task-g { fill: #b49ae0; } .task-o { fill: #9aa6b4; }
.mem-parameters { fill: #74aaf0; } .mem-gradients { fill: #f2b05e; } .mem-optimizer { fill: #b49ae0; }
.mem-activations { fill: #6fc39a; } .mem-temporaries { fill: #e58aa6; }
.mem-communication { fill: #9aa6b4; } .mem-reserved { fill: #c7ced7; }
.time-compute { fill: #74aaf0; } .time-recompute { fill: #3f76bf; } .time-tensor { fill: #f2b05e; }
.time-context { fill: #e0c33e; } .time-expert { fill: #c9784a; } .time-gradients { fill: #b49ae0; }
.time-gathers { fill: #8d78c9; } .time-transfers { fill: #e58aa6; } .time-bubble { fill: #c7ced7; } .time-optimizer { fill: #6fc39a; }
.point { fill-opacity: .75; stroke: var(--page); stroke-width: .75; }
.re-none { fill: #4f8fe4; } .re-selective { fill: #4aab7d; } .re-full { fill: #e5963a; }
.re-mixed { fill: #b07fd6; } .re-partial { fill: #c9a227; }
.curve { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-linejoin: round; }
.band { fill: var(--accent); fill-opacity: .2; } .key-curve, .lone { fill: var(--accent); }
.spot { fill: #e5963a; stroke: var(--page); stroke-width: .75; } .key-event { fill: var(--limit); }
.event { fill: none; stroke: var(--limit); stroke-width: 1; stroke-dasharray: 3 3; }
.part-compute { fill: #74aaf0; } .part-communication { fill: #f2b05e; }
.part-input { fill: #e58aa6; } .part-other { fill: #9aa6b4; }
.spent-training { fill: #6fc39a; } .spent-start_up { fill: #c7ced7; } .spent-input_wait { fill: #e0c33e; }
.spent-checkpoint { fill: #b49ae0; } .spent-evaluation { fill: #74aaf0; } .spent-lost { fill: #e58aa6; }
.spent-lost_to_failures { fill: #d9655c; } .spent-restarting { fill: #e5963a; } .spent-other { fill: #9aa6b4; }
.chosen { fill: none; stroke: var(--text); stroke-width: 2; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel); border-radius: 6px; padding: .7rem .9rem; }
table { border-collapse: collapse; font-size: .88rem; margin: .5rem 0 1rem; }
caption { text-align: left; color: var(--muted); padding-bottom: .35rem; white-space: nowrap; }
th, td { text-align: left; padding: .28rem .9rem .28rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; white-space: nowrap; }
thead th { color: var(--muted); font-weight: 500; }
tbody th { font-weight: 400; }
td.figure, th.figure { text-align: right; }
tr.best th, tr.best td { font-weight: 650; }
dl.choice { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: 1rem 0; }
dl.choice dt { color: var(--muted); } dl.choice dd { margin: 0; }
footer { margin-top: 3rem; color: var(--muted); font-size: .85rem; }
@media print { section { break-inside: avoid; } }
)css";

llvm::StringRef styleSheet() { return kStyle; }

} // namespace dtc::html
