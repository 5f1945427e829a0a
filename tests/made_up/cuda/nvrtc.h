// What the made-up libnvrtc.so.13 and libcuda.so.1 have, beside what cuda.h declares.
#pragma once

#include <cstddef>

extern "C" {

int nvrtcVersion(int* major, int* minor);
int nvrtcGetNumSupportedArchs(int* count);
int nvrtcGetSupportedArchs(int* values);
int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers, const char* const* texts,
                       const char* const* names);
int nvrtcDestroyProgram(void** program);
int nvrtcCompileProgram(void* program, int options, const char* const* texts);
int nvrtcGetPTXSize(void* program, std::size_t* bytes);
int nvrtcGetPTX(void* program, char* to);
int nvrtcGetCUBINSize(void* program, std::size_t* bytes);
int nvrtcGetCUBIN(void* program, char* to);
int nvrtcGetProgramLogSize(void* program, std::size_t* bytes);
int nvrtcGetProgramLog(void* program, char* to);
const char* nvrtcGetErrorString(int code);

/// How many programs this process has compiled.
long made_up_nvrtc_compilations();
/// How often something has happened in this process: "pageable copies in", "pageable copies out", "pinned copies in",
/// "pinned copies out", "launches of NAME", "replays of graphs", "contexts made", "loads of PTX", "loads of CUBIN".
long made_up_cuda_count(const char* what);

}  // extern "C"
