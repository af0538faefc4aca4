class profile:
    def __init__(self, fails=None):
        self.fails = fails

    def _prepare_trace(self):
        return "prepared"

    def __enter__(self):
        self._prepare_trace()
        return self

    def __exit__(self, *error):
        if self.fails:
            raise self.fails
