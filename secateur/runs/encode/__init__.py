"""Learn encodings of architectures, and use them."""
