"""What do the comment and the report look like?

Renders both from a report.json as GitHub would, roughly, and takes pictures of them with Chromium:

    python tools/screenshots.py report.json --out docs/images

The two of the README are those of its two drills: --only comment of the first, --only report of the second.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from plumbline.report.comment import CommentContext, comment_markdown
from plumbline.report.document import Location, Report, parse_report
from plumbline.report.markdown import report_markdown

BLOB = "https://github.com/acme/widgets/blob/main/plumbline/bundle"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-lcd-text",
)

STYLE = """
* { box-sizing: border-box }
body { margin: 0; padding: 16px; background: #fff; color: #1f2328; overflow-wrap: break-word;
       font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, "Noto Color Emoji", sans-serif }
h1, h2 { border-bottom: 1px solid #d1d9e0b3; padding-bottom: .3em }
h1 { font-size: 2em } h2 { font-size: 1.5em } h3 { font-size: 1.25em } h4 { font-size: 1em }
h1, h2, h3, h4 { margin: 24px 0 16px; line-height: 1.25; font-weight: 600 }
p, ul, blockquote, table, details, pre { margin: 0 0 16px }
ul { padding-left: 2em } li { margin-top: .25em } ul ul { margin: 0 } a { color: #0969da; text-decoration: none }
code { background: #818b981f; border-radius: 6px; padding: .2em .4em; white-space: break-spaces;
       font: 85% ui-monospace, "DejaVu Sans Mono", monospace }
pre { background: #f6f8fa; border-radius: 6px; padding: 16px; overflow: auto; line-height: 1.45 }
pre code { background: none; padding: 0; white-space: pre }
table { border-collapse: collapse; display: block; width: max-content; max-width: 100%; overflow: auto }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px } th { font-weight: 600 }
tr:nth-child(even) td { background: #f6f8fa }
blockquote { border-left: .25em solid #d1d9e0; color: #59636e; padding: 0 1em; margin-left: 0 }
sub { font-size: 75%; vertical-align: baseline } summary { cursor: pointer }
main > :first-child { margin-top: 0 } main > :last-child { margin-bottom: 0 }
.comment { border: 1px solid #d1d9e0; border-radius: 6px }
.comment header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; color: #59636e;
                  padding: 8px 16px }
.comment main { padding: 16px }
"""


def page(markdown: str, *, comment: bool) -> str:
    """A rendering as a page of HTML."""
    parser = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "strikethrough", "linkify"])
    body = f"<main>{parser.render(markdown)}</main>"
    if comment:
        body = f'<div class="comment"><header><b>github-actions</b> bot commented</header>{body}</div>'
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{STYLE}</style><body>{body}</body></html>'


def shoot(browser: str, text: str, picture: Path, width: int, tallest: int) -> None:
    """Take a picture of a page, as tall as the page is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        # The page says its own height, which no flag can ask for.
        script = "<script>document.title = document.documentElement.scrollHeight</script></body>"
        file.write_text(text.replace("</body>", script), "utf-8")
        common = [browser, *FLAGS, f"--user-data-dir={folder}/profile"]
        asked = subprocess.run(
            [*common, f"--window-size={width},200", "--dump-dom", file.as_uri()],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        found = re.search(r"<title>(\d+)</title>", asked.stdout)
        height = min(int(found[1]) if found else tallest, tallest)
        subprocess.run(
            [*common, f"--window-size={width},{height}", f"--screenshot={picture}", file.as_uri()],
            capture_output=True,
            check=True,
            timeout=60,
        )


def link(location: Location) -> str:
    """A place in the evidence, in a repository that does not exist."""
    return f"{BLOB}/{location.file}?plain=1#L{location.line}"


def pictures(report: Report) -> dict[str, str]:
    """Name of a picture to its page."""
    context = CommentContext(commit="5f3c1d9b7a2e4806c1d2e3f405162738495a6b7c", isolation="kernel", report_url=BLOB)
    return {
        "comment": page(comment_markdown(report, link=link, context=context), comment=True),
        "report": page(report_markdown(report), comment=False),
    }


def main() -> int:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", choices=("comment", "report"), help="one of the two")
    parser.add_argument("--width", type=int, default=880)
    parser.add_argument("--tallest", type=int, default=1250, help="pixels; a longer page is cut here")
    parser.add_argument("--html", action="store_true", help="keep the pages beside the pictures")
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"none of {', '.join(BROWSERS)} was found", file=sys.stderr)
        return 4
    report = parse_report(arguments.report.read_bytes(), file=arguments.report.name)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in pictures(report).items():
        if arguments.only not in {None, name}:
            continue
        picture = (arguments.out / f"{name}.png").resolve()
        if arguments.html:
            picture.with_suffix(".html").write_text(text, "utf-8")
        shoot(browser, text, picture, arguments.width, arguments.tallest)
        print(f"{picture.name}: {picture.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
