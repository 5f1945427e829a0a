// Reader of PyTorch's own files of weights (.pt, .pth, .th, .ckpt): the zip format of torch.save and the one before it.
// State dicts only, through weights/pickle.h: what stands beside tensors and plain containers is passed over; no code
// of the file or of Python is ever run. Files are untrusted: every size, stride and offset is checked, and what is
// copied is limited by the size of the file.
#pragma once

#include <string_view>

#include "weights/safetensors.h"

namespace evener::weights {

/// Whether `bytes`, at least the first 64 of a file, begin like a file that PyTorch wrote before it used zip archives.
bool is_legacy_torch(std::string_view bytes);

/// The tensors of a state dict by name, dense and row-major; those that share memory in PyTorch become copies, and bool
/// becomes uint8. A checkpoint that keeps the state dict under "state_dict", "model" and the like, or in its one
/// dictionary with tensors, is unwrapped. Throws Error saying what is wrong, without the file's name.
SafetensorsFile parse_torch_file(std::string_view bytes);

}  // namespace evener::weights
