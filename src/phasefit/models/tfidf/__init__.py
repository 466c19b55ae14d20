"""TF-IDF models: a linear model of words and bigrams, without an encoder.

`features` turns texts into sparse rows, `model` predicts, `storage` saves and loads. Torch is imported only to predict.
"""
