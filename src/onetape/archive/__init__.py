"""The other half: histories that agents left on disk, kept, and everything that is done with what is kept."""
