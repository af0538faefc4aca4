class _BaseDataLoaderIter:
    def __init__(self, data):
        self._data = iter(data)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._data)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    pass


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    pass


class DataLoader:
    def __init__(self, data, num_workers=0):
        kinds = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)
        self._iterator = kinds[num_workers > 0], data

    def __iter__(self):
        kind, data = self._iterator
        return kind(data)
