"""What the pictures share that are written as SVG: they have a ground of their own, and follow the reader's choice of light or
dark."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
# The palette's colours that are too dark for a dark ground, and what stands for them there.
DARKER = {"#000000": "#E6E6E6", "#00508F": "#5AA9E6", "#004733": "#2FB98B", "#6A2C70": "#C58BCB", "#7A5200": "#D09A3A",
          "#C84C00": "#FF8A3D"}  # fmt: skip
STYLE = """\
.ground { fill: #ffffff; stroke: #d0d7de; }
text { font-family: FONT; font-size: 13px; fill: #24292f; }
.title { font-size: 16px; font-weight: 600; }
.quiet { fill: #57606a; font-size: 12px; }
.grid { stroke: #e4e7eb; stroke-width: 1; }
.one { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 4 3; }
.ours { font-weight: 700; font-size: 15px; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; stroke: #30363d; }
text { fill: #e6edf3; }
.quiet { fill: #9198a1; }
.grid { stroke: #21262d; }
.one { stroke: #6e7681; }
DARK}
"""


def style(dark: str) -> str:
    """Of a picture; `dark`: rules of its own for a dark ground."""
    return STYLE.replace("FONT", FONT).replace("DARK", dark)
