"""The HTML of a report: its templates. Text is escaped when it gets into one, unless it is Markup."""

from typing import Any

import jinja2

_TEMPLATES = jinja2.Environment(loader=jinja2.PackageLoader(__package__, ""), autoescape=True)
parts: Any = _TEMPLATES.get_template("parts.html").module
Fragment = str  # of HTML: Markup, or nothing


def page(**values: Any) -> str:
    return _TEMPLATES.get_template("page.html").render(values)
