"""Sub-commands of `drivehierarchy` that turn results into statements; each module is imported only when it runs."""
