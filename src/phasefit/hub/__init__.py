"""Models on the Hugging Face hub: push a folder, and load one by `hub:owner/name[@revision]`.

May import `errors` and `files`. Only `library` imports huggingface_hub, when it is used.
"""
