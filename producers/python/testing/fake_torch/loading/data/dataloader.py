class _BaseDataLoaderIter:
    def __init__(self, data, num_workers=0):
        self._data = iter(data)
        self._dataset = data
        self._num_workers = num_workers

    def __iter__(self):
        return self

    def __next__(self):
        return self._next_data()

    def _next_data(self):
        return next(self._data)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    pass


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, data, num_workers=0):
        super().__init__(data, num_workers)
        self._rcvd_idx = 0
        self._workers = [_Worker(4711 + number) for number in range(num_workers)]

    @property
    def _task_info(self):
        return {self._rcvd_idx: (self._rcvd_idx % self._num_workers,)}

    def _next_data(self):
        data = super()._next_data()
        self._rcvd_idx += 1
        return data


class _Worker:
    def __init__(self, pid):
        self.pid = pid


class DataLoader:
    def __init__(self, data, num_workers=0):
        kinds = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)
        self._iterator = kinds[num_workers > 0], data, num_workers

    def __iter__(self):
        kind, data, num_workers = self._iterator
        return kind(data, num_workers)
