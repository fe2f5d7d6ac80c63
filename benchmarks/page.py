"""Page: the figures as one HTML file with plots, light and dark, without anything from elsewhere.

Every plot has its table. Times are on a logarithmic scale, as they span several powers of ten.
"""

import math
import statistics
from collections.abc import Sequence
from html import escape
from typing import Any

WIDTH, ROW, LEFT, RIGHT = 760, 30, 230, 60
HEIGHT, BASE, TOP = 300, 36, 12

STYLE = """
:root{color-scheme:light dark;--ink:#1c2126;--soft:#5c6670;--line:#d9dee3;--paper:#fff;
--ours:#0b62c4;--plain:#c2570c}
@media (prefers-color-scheme:dark){:root{--ink:#e8ebee;--soft:#9ba6b1;--line:#343b43;
--paper:#14181c;--ours:#6aaef5;--plain:#f0a35e}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;
max-width:72rem;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.5rem}p,small{color:var(--soft)}
svg{display:block;width:100%;height:auto;margin:.5rem 0}
text{fill:var(--soft);font-size:12px}.name{fill:var(--ink)}
.grid{stroke:var(--line)}.ours{stroke:var(--ours);fill:var(--ours)}
.plain{stroke:var(--plain);fill:var(--plain)}path{fill:none!important;stroke-width:2}
.key{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin:0 .3em 0 1em}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;
font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;
white-space:nowrap;vertical-align:top}
th:first-child,td:first-child,td:last-child{text-align:left}td:last-child{white-space:normal;
min-width:16rem;color:var(--soft)}
"""


def page(results: dict[str, Any]) -> str:
    """Return the whole page."""
    of = ", ".join(f"{k} {v}" for k, v in results["machine"].items())
    runs = "1 run" if results["runs"] == 1 else f"{results['runs']} runs"
    body = [
        "<h1>Benchmarks</h1>",
        f"<p>{escape(of)}; {runs} of each instance. Dots are medians, bars go from the fastest "
        "run to the slowest.</p>",
        '<p><span class="key" style="background:var(--ours)"></span>plan, snapshot in memory to '
        'verified plan <span class="key" style="background:var(--plain)"></span>plain first-fit '
        "pass over the same pods</p>",
    ]
    for name, subject in results["subjects"].items():
        body.append(f"<h2>{escape(name)}</h2><p>{escape(subject['about'])}</p>")
        timed = [r for r in subject["rows"] if r["seconds"]]
        if timed:
            draw = _against_size if subject["againstSize"] and len(timed) > 1 else _beside
            body.append(draw(timed, name))
        body.append(_table(subject["rows"]))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Benchmarks</title><style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _scale(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that the values lie between."""
    low = math.floor(math.log10(max(min(values), 1e-6)))
    high = math.ceil(math.log10(max(max(values), 1e-6)))
    return low, max(high, low + 1)


def _seconds(power: int) -> str:
    return f"{10**power:g} s"


def _beside(rows: Sequence[dict[str, Any]], title: str) -> str:
    """Draw each instance as a line with the median and spread of both."""
    low, high = _scale([v for r in rows for v in (*r["seconds"], *r["plain"])])
    height = ROW * len(rows) + BASE

    def x(v: float) -> float:
        part = (math.log10(max(v, 10.0**low)) - low) / (high - low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    out = [_open(height, f"{title}: time by instance, logarithmic")]
    for power in range(low, high + 1):
        at = x(10.0**power)
        out.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height - BASE}"/>')
        out.append(f'<text x="{at:.1f}" y="{height - 14}" text-anchor="middle">'
                   f"{_seconds(power)}</text>")  # fmt: skip
    for k, r in enumerate(rows):
        y = ROW * k + ROW / 2
        out.append(f'<text class="name" x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">'
                   f"{escape(r['name'])}</text>")  # fmt: skip
        for of, name, shift in ((r["plain"], "plain", 5), (r["seconds"], "ours", -5)):
            if of:
                out.append(_dot(x(min(of)), x(statistics.median(of)), x(max(of)), y + shift, name,
                                f"{r['name']}: {statistics.median(of):.3f} s"))  # fmt: skip
    return "".join(out) + "</svg>"


def _dot(a: float, middle: float, b: float, y: float, name: str, tip: str) -> str:
    return (
        f'<g class="{name}"><line x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke-width="2"/><circle cx="{middle:.1f}" cy="{y:.1f}" r="4"/>'
        f"<title>{escape(tip)}</title></g>"
    )


def _against_size(rows: Sequence[dict[str, Any]], title: str) -> str:
    """Draw time against the number of nodes, both logarithmic, with the slope."""
    low, high = _scale([v for r in rows for v in (*r["seconds"], *r["plain"])])
    left = math.log10(min(r["nodes"] for r in rows))
    right = math.log10(max(r["nodes"] for r in rows))

    def x(n: float) -> float:
        return 60 + (math.log10(n) - left) / max(right - left, 1e-9) * (WIDTH - 150)

    def y(v: float) -> float:
        part = (math.log10(max(v, 10.0**low)) - low) / (high - low)
        return TOP + (1 - part) * (HEIGHT - BASE - TOP)

    out = [_open(HEIGHT, f"{title}: time against nodes, both logarithmic")]
    for power in range(low, high + 1):
        at = y(10.0**power)
        out.append(f'<line class="grid" x1="60" x2="{WIDTH - 90}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(f'<text x="52" y="{at + 4:.1f}" text-anchor="end">{_seconds(power)}</text>')
    for r in rows:
        out.append(f'<text x="{x(r["nodes"]):.1f}" y="{HEIGHT - 14}" text-anchor="middle">'
                   f"{r['nodes']:,}</text>")  # fmt: skip
    for name, key in (("plain", "plain"), ("ours", "seconds")):
        points = [(r["nodes"], statistics.median(r[key]), r["name"]) for r in rows if r[key]]
        if not points:
            continue
        line = " L".join(f"{x(n):.1f} {y(v):.1f}" for n, v, _ in points)
        out.append(f'<g class="{name}"><path d="M{line}"/>')
        for n, v, who in points:
            out.append(f'<circle cx="{x(n):.1f}" cy="{y(v):.1f}" r="4">'
                       f"<title>{escape(who)}: {v:.3f} s</title></circle>")  # fmt: skip
        n, v, _ = points[-1]
        out.append(f'</g><text class="name" x="{x(n) + 8:.1f}" y="{y(v) + 4:.1f}">'
                   f"slope {slope([p[:2] for p in points]):.2f}</text>")  # fmt: skip
    return "".join(out) + "</svg>"


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a straight line through the points on log-log paper (least squares)."""
    xs = [math.log(n) for n, _ in points]
    ys = [math.log(max(v, 1e-9)) for _, v in points]
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    below = sum((a - mx) ** 2 for a in xs)
    return sum((a - mx) * (b - my) for a, b in zip(xs, ys, strict=True)) / below if below else 0.0


def _open(height: float, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>"
    )


def _table(rows: Sequence[dict[str, Any]]) -> str:
    head = (
        "instance", "nodes", "pods", "waiting", "median s", "fastest", "slowest", "cpu s",
        "plain s", "start", "plain", "leave", "gap", "MiB", "wanted", "engine, remarks",
    )  # fmt: skip
    out = ['<div class="scroll"><table><tr>', *(f"<th>{h}</th>" for h in head), "</tr>"]
    for r in rows:
        of, plain = r["seconds"], r["plain"]
        cells = (
            r["name"], f"{r['nodes']:,}", f"{r['pods']:,}", f"{r['waiting']:,}",
            f"{statistics.median(of):.3f}" if of else "–",
            f"{min(of):.3f}" if of else "–", f"{max(of):.3f}" if of else "–",
            f"{statistics.median(r['cpu']):.3f}" if r["cpu"] else "–",
            f"{statistics.median(plain):.3f}" if plain else "–",
            _count(r["started"]), _count(r["started_plain"]), _count(r["evicted"]),
            _gap(r),
            f"{r['memory_mib']:,.0f}" if r["memory_mib"] else "–", r["wanted"],
            ", ".join(x for x in (r["engine"], r["note"]) if x),
        )  # fmt: skip
        out.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
    return "".join(out) + "</table></div>"


def _count(n: int | None) -> str:
    return "–" if n is None else f"{n:,}"


def _gap(r: dict[str, Any]) -> str:
    if r["evicted"] is None:
        return "–"
    return "no bound" if r["gap"] is None else f"{100 * r['gap']:.2f} %"
