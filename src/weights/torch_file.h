// Reader of PyTorch's own files of weights (.pt, .pth, .th, .ckpt): the zip format of torch.save and the legacy one
// before it. It reads state dicts only, through weights/pickle.h: other objects than tensors and plain containers are
// skipped, and no code of the file or of Python is ever run. Files are untrusted: every size, stride and offset is
// checked, and the total size of copied tensors is limited by the size of the file.
#pragma once

#include <span>
#include <string_view>

#include "weights/safetensors.h"

namespace evener::weights {

/// The names ("module.name") whose calls create tensors, for pickle::parse().
std::span<const std::string_view> torch_names();

/// Whether `bytes`, at least the first 64 of a file, begin like PyTorch's legacy format, which it wrote before it used
/// zip archives.
bool is_legacy_torch(std::string_view bytes);

/// The tensors of a state dict by name, dense and row-major; those that share memory in PyTorch become copies, and bool
/// becomes uint8. A checkpoint that keeps the state dict under "state_dict", "model" and the like, or in its one
/// dictionary with tensors, is unwrapped. Throws Error saying what is wrong, without the file's name.
SafetensorsFile parse_torch_file(std::string_view bytes);

}  // namespace evener::weights
