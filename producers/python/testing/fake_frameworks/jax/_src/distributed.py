class State:
    process_id = 0
    num_processes = 1
    client = None

    def initialize(self, coordinator_address=None, num_processes=None, process_id=None):
        if num_processes is None:
            raise ValueError("Number of processes must be defined.")
        self.client = object()
        self.num_processes, self.process_id = num_processes, process_id


global_state = State()
