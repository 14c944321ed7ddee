"""`shared_prefix`: Hugging Face video-language models that read each clip once for all its questions."""
