"""Translate messages for Python users: errors and notes name command-line options, which are parameters in Python.

Messages are written once, for the command line. Every public function and method translates the errors it raises:
`--validation-size` becomes `` `validation_size` ``, `--leaked keep` becomes `leaked="keep"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from phasefit.errors import Interrupted, PhasefitError
from phasefit.events import Event, Listener, Note

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

COMMON = {  # arguments that many people try first, and the option of a phase that they mean
    **{"epochs": "epochs", "num_epochs": "epochs", "num_train_epochs": "epochs", "max_steps": "max_steps"},
    **{"lr": "lr", "learning_rate": "lr", "batch_size": "batch_size", "weight_decay": "weight_decay"},
}
NAMES = {"-o": "out", "--set": "settings"}  # options whose parameter has a different name
CHOICES = {  # options whose value may follow them in a sentence
    "--recipe": r"[a-z]+(?:-[a-z]+)*",
    "--kind": r"single|multi|tree|score",
    "--leaked": r"keep|drop-scored|drop-train",
    "--unseen": r"error|drop|keep",
    "--empty": r"refuse|drop",
    "--method": r"gradients|occlusion",
    "--long": r"truncate|head-tail|windows",
    "--device": r"auto|cpu|cuda|mps",
    "--precision": r"auto|no|bf16|fp16",
    "--levels": r"\w+(?:,\w+)+",
}
VERBS = ("names", "auto", "is", "must", "says", "takes")  # words that follow --recipe without being a recipe
UNEXPECTED = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")
RESUME = re.compile(r"(?:phasefit train )?--resume (?:'(?P<quoted>[^']*)'|(?P<path>[^\s';,]+))")
SETTING = re.compile(r"--set (?P<name>[\w.-]+)\s*=\s*(?P<value>[^\s:,;)]*)")
COMMAND = re.compile(r"(?:(?:phasefit|pip) [a-z]+|torchrun) [^;,()]*")
OPTION = re.compile(r"(?<![\w-])(?P<option>--[a-z][a-z-]*|-o\b)(?: (?P<value>[\w-]+(?:,[\w-]+)*))?")


def in_python(sentence: str, names: Mapping[str, str] = NAMES) -> str:
    """Replace command-line options in a sentence by Python parameters; whole commands are not changed."""
    sentence = RESUME.sub(lambda match: f'phasefit.resume("{match["quoted"] or match["path"]}")', sentence)
    parts, end = [], 0
    for command in COMMAND.finditer(sentence):
        parts += [_options(sentence[end : command.start()], names), command.group()]
        end = command.end()
    return "".join([*parts, _options(sentence[end:], names)])


def _options(text: str, names: Mapping[str, str]) -> str:
    return OPTION.sub(lambda match: _option(match, names), SETTING.sub(_setting, text))


def _setting(match: re.Match[str]) -> str:
    value = match["value"]
    shown = value if re.fullmatch(r"[\d.e+-]+|true|false", value) else f'"{value}"'
    return f'settings={{"{match["name"]}": {shown if value else "..."}}}'


def _option(match: re.Match[str], names: Mapping[str, str]) -> str:
    option, value = match["option"], match["value"]
    name = names.get(option, option.removeprefix("--").replace("-", "_"))
    if value is None:
        return f"`{name}`"
    if option in CHOICES and re.fullmatch(CHOICES[option], value) and not (option == "--recipe" and value in VERBS):
        shown = [f'"{part}"' for part in value.split(",")]
        return f"{name}={shown[0]}" if len(shown) == 1 else f"{name}=[{', '.join(shown)}]"
    return f"`{name}` {value}"


def python_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a public function or method so that its errors name parameters instead of options."""
    writes_folder = "folder" in signature(function).parameters  # `save` names its output `folder`
    names = {**NAMES, "-o": "folder"} if writes_folder else NAMES

    @wraps(function)
    def translated(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return function(*arguments, **named)
        except (PhasefitError, Interrupted) as error:
            error.args = (in_python(str(error), names), *error.args[1:])
            raise
        except TypeError as error:
            unknown = UNEXPECTED.search(str(error))
            # Without an inner frame the call itself failed, not something that it called.
            if unknown and unknown["name"] in COMMON and error.__traceback__ and error.__traceback__.tb_next is None:
                hint = f'settings={{"finetune.{COMMON[unknown["name"]]}": ...}}'
                raise TypeError(f"{error}; options of a phase are settings, e.g. {hint}") from None
            raise

    return translated


def python_notes(listener: Listener | None) -> Listener:
    """Wrap a listener so that its notes name parameters; None becomes a listener that ignores every event."""

    def translated(event: Event) -> None:
        if listener is not None:
            listener(replace(event, text=in_python(event.text)) if isinstance(event, Note) else event)

    return translated
