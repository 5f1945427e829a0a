// Opens files of other programs, and runs their networks on one plain image, in a process of its own: a library's
// reader may not survive a damaged file.
#pragma once

#include <cstdint>
#include <string>

#include "base/tensor.h"
#include "engine/model_file.h"

namespace evener::inference {

/// The outputs for an image of plain grey, without the batch. In a child process, where forks are allowed: this one can
/// fork others afterwards. `batch`: that of the network. `grey`: the value of all pixels. Throws Error.
TensorMap trial_run(const engine::ModelFile& file, engine::ModelInput input, std::int64_t batch, float grey);

/// "'boxes' of shape (1, 300, 4), 'scores' of shape (1, 300)"
std::string outputs_text(const TensorMap& outputs);

/// Throws Error where opening the file, or running it on zeros where its shape is known, fails or ends the process that
/// tries it.
void require_opens(const std::string& path);

/// The question for ask_program() that calls model_file_failure() with a path in a process of its own.
inline constexpr const char* kModelFileQuestion = "model-file";
/// Opens a file of another program, and runs it on zeros where its shape is known. Returns why that failed; "" = it
/// worked.
std::string model_file_failure(const std::string& path);

}  // namespace evener::inference
