"""Speed, measured beside other libraries in one run: `python -m benchmark`, or `make bench`."""
