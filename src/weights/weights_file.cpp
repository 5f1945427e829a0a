#include "weights/weights_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/files.h"
#include "weights/torch_file.h"

namespace evener::weights {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::size_t kHeadBytes = 512;

std::string head_of(const fs::path& path) {
  const Descriptor file = open_for_reading(path);
  std::string head(kHeadBytes, '\0');
  head.resize(read_at(file, path, 0, head.data(), head.size()));
  return head;
}

struct Signature {
  std::size_t at;
  std::string_view bytes;
  const char* kind;
};

constexpr std::array<Signature, 11> kSignatures = {{
    {0, "\x89HDF\r\n"sv, "an HDF5 file, perhaps of Keras"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "GGUF"sv, "a GGUF model"},
    {257, "ustar"sv, "a tar archive; PyTorch wrote such ones before 0.2, and others are to be unpacked first"},
    {0, "\x1f\x8b"sv, "packed with gzip; unpack it first"},
    {0, "7767517\n"sv, "a network description of ncnn"},
    {0, "\x89PNG"sv, "a PNG image"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "<?xml"sv, "an XML file"},
    {0, "%PDF"sv, "a PDF document"},
    {0, "\x80"sv, "a Python pickle, but not of torch.save"},
}};

/// What came in place of the file that begins with `head`; "" = it is the file.
const char* impostor(std::string head) {
  if (head.starts_with("version https://git-lfs")) {
    return "a Git LFS pointer, a text that stands for the file: fetch it with 'git lfs pull'";
  }
  head.erase(0, head.find_first_not_of(" \t\r\n\xef\xbb\xbf"));  // blanks, and the mark of UTF-8
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool html = head.starts_with('<') && (head.starts_with("<!doctype html") || head.find("<html") != head.npos);
  return html ? "an HTML page, not a file of a network: the download went wrong, so repeat it" : "";
}

/// What a file that begins with `head` seems to be.
std::string guess(const std::string& head) {
  if (head.empty()) return "empty";
  for (const Signature& signature : kSignatures) {
    if (std::string_view(head).substr(std::min(signature.at, head.size())).starts_with(signature.bytes)) {
      return signature.kind;
    }
  }
  // ONNX begins with its version, field 1, a small number; the producer's name follows.
  if (head.front() == '\x08' && head.find('\x12') != std::string::npos) return "an ONNX model";
  const bool readable = std::ranges::all_of(head, [](unsigned char c) { return c >= 0x20 || std::isspace(c) != 0; });
  return readable ? "a text" : "of an unknown kind";
}

bool is_safetensors(const std::string& head) {
  std::uint64_t length = 0;
  if (head.size() <= sizeof length) return false;
  std::memcpy(&length, head.data(), sizeof length);
  return head[sizeof length] == '{' && length < std::uint64_t{1} << 32;
}

SafetensorsFile read_torch(const fs::path& path) {
  const std::string bytes = read_file(path);
  try {
    return parse_torch_file(bytes);
  } catch (const Error& error) {
    throw Error("'" + path.string() + "' can't be read as PyTorch weights: " + error.what());
  }
}

}  // namespace

void require_downloaded(const fs::path& path) {
  if (std::error_code none; !fs::is_regular_file(path, none)) return;
  const std::string found = impostor(head_of(path));
  if (!found.empty()) throw Error("'" + path.string() + "' is " + found);
}

SafetensorsFile read_weights(const fs::path& path) {
  require_downloaded(path);
  const std::string head = head_of(path);
  SafetensorsFile file;
  if (is_safetensors(head)) {
    file = read_safetensors(path);
  } else if (head.starts_with("PK\x03\x04") || is_legacy_torch(head)) {
    file = read_torch(path);
  } else if (std::string_view(head).substr(std::min<std::size_t>(4, head.size())).starts_with("TFL3")) {
    throw Error("'" + path.string() +
                "' is a TensorFlow Lite model, whose weights are not read: give a .pth or a .safetensors file");
  } else {
    throw Error("'" + path.string() + "' holds no weights that can be read: it seems to be " + guess(head) +
                ". Safetensors files and state dicts saved by PyTorch can be read");
  }
  return file;
}

}  // namespace evener::weights
