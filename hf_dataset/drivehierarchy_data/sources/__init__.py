"""Sources of clips: adapters that turn drives of one kind into the scene model."""
