// Reader of PyTorch's own files of weights (.pt, .pth, .th, .ckpt): the zip format of torch.save and the legacy one
// before it. It reads state dicts only, through weights/pickle.h: other objects than tensors and plain containers are
// skipped, and no code of the file or of Python is ever run. Files are untrusted: every size, stride and offset is
// checked, and the total size of copied tensors is limited by the size of the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/tensor.h"
#include "weights/pickle.h"
#include "weights/safetensors.h"
#include "weights/zip_reader.h"

namespace evener::weights {

/// The bytes of the number 0x1950a86a20f9469cfc6c, the first value in a file before the zip format.
inline constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

struct ElementKind {
  std::string_view storage;  // "torch.FloatStorage"
  std::uint64_t bytes;
  std::optional<DType> dtype;  // absent: HostTensor can't hold it
  bool is_bool = false;
};

/// The names ("module.name") whose calls create tensors, for pickle::parse().
std::span<const std::string_view> torch_names();

/// The kind of storage "torch.FloatStorage"; nullptr for another name.
const ElementKind* find_element_kind(std::string_view storage);

/// A typed piece of a file.
struct Storage {
  const ElementKind* kind = nullptr;
  std::string_view bytes;
  std::uint64_t count = 0;  // elements
};

class StorageSource {
 public:
  virtual ~StorageSource() = default;
  /// The storage that a kPersistent value of `pickle` describes; its bytes are valid as long as this object.
  virtual Storage find(const pickle::Pickle& pickle, const pickle::Value& persistent) = 0;
  /// The size of all storages together, unpacked.
  virtual std::uint64_t total_bytes() const = 0;
};

/// An opened file: the pickle of the saved object, and the storages that it refers to.
struct TorchContent {
  std::unique_ptr<ZipReader> archive;  // of the zip format
  std::string buffer;                  // an unpacked pickle
  pickle::Pickle object;
  std::unique_ptr<StorageSource> storages;
};

TorchContent open_torch_zip(std::string_view bytes);
TorchContent open_torch_legacy(std::string_view bytes);

/// Whether `bytes`, at least the first 64 of a file, begin like PyTorch's legacy format, which it wrote before it used
/// zip archives.
bool is_legacy_torch(std::string_view bytes);

/// The tensors of a state dict by name, dense and row-major; those that share memory in PyTorch become copies, and bool
/// becomes uint8. A checkpoint that keeps the state dict under "state_dict", "model" and the like, or in its one
/// dictionary with tensors, is unwrapped. Throws Error saying what is wrong, without the file's name.
SafetensorsFile parse_torch_file(std::string_view bytes);

}  // namespace evener::weights
