"""Progress: what people see while a job runs, on a terminal, in a notebook or as plain lines.

`live`, `notebook` and `plain` are the displays; `python` chooses one for Python and passes warnings and notes on;
`text` has the words they share; `console` the consoles. May import runs and everything to their left.
"""
