class profile:
    def _prepare_trace(self):
        return "prepared"

    def __enter__(self):
        self._prepare_trace()
        return self

    def __exit__(self, *error):
        return None
