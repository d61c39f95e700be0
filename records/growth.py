#!/usr/bin/env python3
"""Writes docs/growth-4x4.svg from records/4x4-multi.json: `records/growth.py`, in the root of the project.

The picture has its own background and follows the reader's choice of light or dark, so that it is readable on any page.
"""

import json
import math
from pathlib import Path

WIDTH, HEIGHT = 880, 340
TOP, BOTTOM = 58, 284
# The left and right ends of the two panels.
LINEAR, LOGARITHMIC = (70, 418), (502, 852)

STYLE = """
  .paper { fill: #ffffff; stroke: #d0d7de }
  .states { fill: #2563a8; stroke: #2563a8 }
  .classes { fill: #c06223; stroke: #c06223 }
  .line { fill: none; stroke-width: 2 }
  .grid { stroke: #dee2e7 }
  text { fill: #2b3038; font: 13px system-ui, sans-serif }
  .title { font-size: 15px; font-weight: 600 }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #30363d }
    .states { fill: #6cb0f5; stroke: #6cb0f5 }
    .classes { fill: #f0a05a; stroke: #f0a05a }
    .line { fill: none }
    .grid { stroke: #2b3139 }
    text { fill: #d7dde4 }
  }
"""


def line(x1, y1, x2, y2):
    return f'<path class="grid" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def text(x, y, words, kind):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{words}</text>'


def panel(ends, depths, title, ticks):
    left, right = ends
    marks = [text(left, 34, title, "title")]
    for height, label in ticks:
        y = BOTTOM - height * (BOTTOM - TOP)
        marks += [line(left, y, right, y), text(left - 8, y + 4, label, "end")]
    step = (right - left) / depths
    marks += [text(left + (depth + 0.5) * step, BOTTOM + 18, depth, "middle") for depth in range(depths)]
    marks.append(text((left + right) / 2, BOTTOM + 40, "distance from the solved state", "middle"))
    return marks, lambda depth: left + (depth + 0.5) * step


def main():
    records = Path(__file__).parent
    record = json.loads((records / "4x4-multi.json").read_text())
    counts, classes = record["counts"], record["classes"]
    depths = len(counts)

    # Linear: the distribution of the states. One tick for each 5 * 10^12 states; the axis ends at 14 * 10^12.
    most = 14e12
    ticks = [(n * 5e12 / most, f"{5 * n} · 10¹²" if n else "0") for n in range(3)]
    marks, x = panel(LINEAR, depths, f"{sum(counts):,} states of 4x4", ticks)
    for depth, count in enumerate(counts):
        height = count / most * (BOTTOM - TOP)
        if height > 0.5:
            marks.append(
                f'<rect class="states" x="{x(depth) - 8:.1f}" y="{BOTTOM - height:.1f}" width="16" height="{height:.1f}"/>'
            )

    # Logarithmic: shows the small layers at both ends, and the classes under the symmetries.
    decades = 14
    superscript = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    power = lambda n: "1" if n == 0 else "10" + str(n).translate(superscript)
    ticks = [(n / decades, power(n)) for n in range(0, decades + 1, 2)]
    more, x = panel(LOGARITHMIC, depths, "the same on a logarithmic scale", ticks)
    marks += more
    for kind, values in [("states", counts), ("classes", classes)]:
        y = lambda value: BOTTOM - math.log10(value) / decades * (BOTTOM - TOP)
        points = [(x(depth), y(value)) for depth, value in enumerate(values)]
        marks.append(f'<path class="{kind} line" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + '"/>')
        marks += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
    for row, (kind, words) in enumerate([("states", "states"), ("classes", "classes up to symmetry")]):
        left, top = LOGARITHMIC[0] + 14, TOP + 14 + 20 * row
        marks += [
            f'<rect class="{kind}" x="{left}" y="{top}" width="12" height="10"/>',
            text(left + 20, top + 10, words, "legend"),
        ]

    said = f"States of the 4x4 board by distance from solved: {', '.join(f'{count:,}' for count in counts)}"
    picture = "\n".join(marks)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{said}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>\n{picture}\n</svg>\n'
    )
    (records.parent / "docs" / "growth-4x4.svg").write_text(svg)


if __name__ == "__main__":
    main()
