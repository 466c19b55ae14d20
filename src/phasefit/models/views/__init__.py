"""Views: small augmentations of a text that leave its meaning alone, composed in order, drawn anew at every step.

Most map a text to a text; `dropout` leaves it to the encoder's own dropout, `adversarial` shifts the input embeddings.
A recipe says `views = ["delete-words", { name = "mask-span", characters = 5 }]`. A phase makes them once and asks at
every step, for the rows of its batch:

    views = Views(build_views(name, options.views), model.encoder, where=name)
    features = views.features(data.texts, data.tokens, rows, batch.generator)
    vectors = sentence_vectors(views.output(batch.put(features)))

`output` is the encoder's, under the adversarial shift if there is one (`views.adversarial` is not None), so a phase
need not ask. Adding a view is a file here and a line in `build.py`; the contract tests then cover it.
"""

from phasefit.models.views.build import VIEWS, build_views
from phasefit.models.views.contract import View
from phasefit.models.views.views import Views

__all__ = ["VIEWS", "View", "Views", "build_views"]
