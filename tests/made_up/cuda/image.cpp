#include "made_up/cuda/image.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace made_up::cuda {
namespace {

constexpr char kMagic[8] = {'\x7f', 'M', 'A', 'D', 'E', '_', 'U', 'P'};
constexpr const char* kPtxFormat = "// made-up PTX\n.version %d\n.target sm_%d\n.bytes %zu\n%n";

struct Head {
  char magic[8];
  std::int32_t capability, cuda_version;
  std::uint64_t bytes;
};

}  // namespace

std::string cubin_of(const Image& image) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.capability = image.capability;
  head.cuda_version = image.cuda_version;
  head.bytes = image.object.size();
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + image.object;
}

std::string ptx_of(const Image& image) {
  char head[200];
  int length = 0;
  std::snprintf(head, sizeof head, kPtxFormat, image.cuda_version, image.capability, image.object.size(), &length);
  std::string text(head, static_cast<std::size_t>(length));
  for (const char byte : image.object) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

Image read_image(const void* data) {
  Image image;
  const auto* text = static_cast<const char*>(data);
  if (std::memcmp(text, kMagic, 1) == 0) {
    Head head{};
    std::memcpy(&head, data, sizeof head);
    if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) throw std::runtime_error("no image of the made-up NVRTC");
    image.capability = head.capability;
    image.cuda_version = head.cuda_version;
    image.object.assign(text + sizeof head, head.bytes);
    return image;
  }
  std::size_t bytes = 0;
  int length = 0;
  image.is_ptx = true;
  if (std::sscanf(text, kPtxFormat, &image.cuda_version, &image.capability, &bytes, &length) != 3 || length == 0 ||
      std::strlen(text + length) != 2 * bytes) {
    throw std::runtime_error("no PTX of the made-up NVRTC");
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    const char digits[] = {text[static_cast<std::size_t>(length) + 2 * i],
                           text[static_cast<std::size_t>(length) + 2 * i + 1], '\0'};
    image.object += static_cast<char>(std::stoi(digits, nullptr, 16));
  }
  return image;
}

}  // namespace made_up::cuda
