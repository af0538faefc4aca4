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
    pass


class DataLoader:
    def __init__(self, data, num_workers=0):
        kinds = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)
        self._iterator = kinds[num_workers > 0], data, num_workers

    def __iter__(self):
        kind, data, num_workers = self._iterator
        return kind(data, num_workers)
