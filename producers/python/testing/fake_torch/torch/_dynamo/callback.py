class CompilationCallbackHandler:
    def __init__(self):
        self.start_callbacks, self.end_callbacks = [], []

    def compile(self, work):
        for call in self.start_callbacks:
            call("arguments")
        work()
        for call in self.end_callbacks:
            call("arguments")

    def clear(self):
        self.start_callbacks.clear()
        self.end_callbacks.clear()


callback_handler = CompilationCallbackHandler()
