"""Runs a command in a terminal of 80 columns and draws what the terminal shows at the end, as an SVG picture."""

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import sys
import termios
from unicodedata import category, east_asian_width
from xml.sax.saxutils import escape

COLUMNS, SECONDS = 80, 120
CELL, LINE, EDGE, BAR = 8.4, 20, 16, 36  # pixels: a column, a row, the margin, the bar with the buttons
COLOURS = """#99a3ae #ff7b72 #7ee787 #e3b341 #79c0ff #d2a8ff #56d4dd #c9d1d9
    #aab4bf #ffa198 #aff5b4 #f8e3a1 #a5d6ff #e2c5ff #b3f0ff #ffffff""".split()
FRONT, EVEN = {"fill": "#e6edf3"}, {"font-weight": "normal", "fill-opacity": "1"}
PLAIN = FRONT | EVEN
STYLES = {0: PLAIN, 1: {"font-weight": "bold"}, 2: {"fill-opacity": ".8"}, 22: EVEN, 39: FRONT}
STYLES |= {number + (30 if number < 8 else 82): {"fill": colour} for number, colour in enumerate(COLOURS)}
TOKEN = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]P^_X].*?(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|.", re.DOTALL)


def run(command):
    """Runs the command in a terminal; gives its exit code and all that it wrote."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the command would too
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        try:
            os.execvpe(command[0], command, kept | {"TERM": "xterm-256color"})
        except OSError as error:
            os.write(2, os.fsencode(f"{command[0]}: {error.strerror}\n"))
            os._exit(127)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(SECONDS)
    output = b""
    try:
        while piece := os.read(terminal, 65536):
            output += piece
    except OSError:  # on Linux, this is the end
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code, output


def restyle(style, sequence):
    """The style after an escape sequence; one that is not about style changes nothing."""
    if found := re.fullmatch(r"\x1b\[([\d;]*)m", sequence):
        known = re.sub(r"\b[345]8;(5;\d*|2(;\d*){3})", "38", found[1])  # no colours of larger palettes
        for code in known.split(";"):
            style = style | STYLES.get(int(code or 0), {})
    return style


def screen(text):
    """The rows shown: for each column with a character, a list of this character, its style and its width."""
    rows, column, style, cell = [{}], 0, PLAIN, [""]
    for token in TOKEN.findall(text):
        kind, here = category(token[0]), min(column, COLUMNS - 1)
        moves = {"\r": 0, "\n": here, "\b": max(here - 1, 0), "\t": min(here // 8 * 8 + 8, COLUMNS - 1)}
        if token[0] == "\x1b":
            style = restyle(style, token)
        elif token in moves:
            column = moves[token]
            rows += [{}] * (token == "\n")
        elif kind in ("Mn", "Me", "Cf"):  # joins the character before it
            cell[0] += token
        elif kind != "Cc" and token not in "\ufffe\uffff":
            width = 2 if east_asian_width(token) in "WF" else 1
            if column + width > COLUMNS:
                rows, column = rows + [{}], 0
            for place in range(column - 1, column + width):  # what it covers, in part or in whole
                if place in rows[-1] and place + rows[-1][place][2] > column:
                    del rows[-1][place]
            cell = [token, style, width]
            rows[-1] |= {column: cell} if token != " " else {}
            column += width
    return rows if rows[-1] else rows[:-1]


def draw(rows, title):
    """The lines of the picture: a window, and a text element for each run of one style or wide character."""
    width, height = round(COLUMNS * CELL) + 2 * EDGE, BAR + len(rows) * LINE + EDGE
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>\n<title>{escape(title)}</title>'
    yield f"<desc>A terminal, {COLUMNS} columns wide, with this command and what it shows.</desc>"
    yield f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="9" fill="#161b22" stroke="#444c56"/>'
    yield "".join(f'<circle cx="{x}" cy="20" r="6" fill="{COLOURS[i]}"/>' for x, i in ((22, 1), (42, 3), (62, 2)))
    fonts = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
    yield f'<g font-family="{fonts}" font-size="14" fill="{FRONT["fill"]}">'
    for number, row in enumerate(rows):
        runs = []  # lists of style, width of its characters, first column, column after it, text
        for column, (text, style, width) in sorted(row.items()):
            # A run ends at two blanks, since a viewer may show them as one.
            if runs and width == 1 and runs[-1][:2] == [style, 1] and column <= runs[-1][3] + 1:
                runs[-1][3:] = column + 1, runs[-1][4] + " " * (column - runs[-1][3]) + text
            else:
                runs.append([style, width, column, column + width, text])
        for style, width, column, end, text in runs:
            place = f'x="{EDGE + column * CELL:.5g}" y="{BAR + number * LINE + 15}"'
            if end - column > width:
                place += f' textLength="{(end - column) * CELL:.5g}"'
            look = "".join(f' {name}="{value}"' for name, value in style.items() if value != PLAIN[name])
            yield f"<text {place}{look}>{escape(text)}</text>"
    yield "</g>\n</svg>\n"


out, *command = sys.argv[1:] or [""]
prompt = shlex.join(command)
if command[:1] == ["--prompt"]:
    prompt, command = "".join(command[1:2]), command[2:]
if out[:1] in ("", "-") or not command or command[0].startswith("-"):
    print("usage: terminal.py OUT.svg [--prompt TEXT] COMMAND [ARG]...", file=sys.stderr)
    sys.exit(2)
code, output = run(command)
if code:
    sys.stderr.buffer.write(output.replace(b"\r\n", b"\n"))
    sys.exit(code)
prompt = "".join(filter(str.isprintable, prompt))
rows = screen(f"\x1b[32m$\x1b[0;1m {prompt}\x1b[0m\r\n" + output.decode(errors="replace"))
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join(draw(rows, prompt)))
