// CUPTI itself: libcupti, loaded at run time, so that one build of ours serves machines with CUDA
// 11, 12, 13 and with none. Functions that a version lacks answer kNoSuchFunction.
#pragma once

#include <memory>
#include <string>

#include "producers/cupti/cupti_api.h"

namespace eroica {

// Where the process has loaded a libcupti (PyTorch brings one), that one: two in a process disturb
// each other. Else EROICA_CUPTI_LIBRARY, the loader's path, and CUDA_HOME. nullptr, and in *why
// what was looked for, where there is none. The library stays loaded.
std::unique_ptr<CuptiApi> LoadCuptiApi(std::string* why);

}  // namespace eroica
