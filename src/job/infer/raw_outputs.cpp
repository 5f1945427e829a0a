#include "job/infer/raw_outputs.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/terminal_text.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// "StatefulPartitionedCall_0" for an output "StatefulPartitionedCall:0".
std::string file_name(const std::string& output) {
  std::string name;
  for (const char c : output) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    name += is_plain ? c : '_';
  }
  return name.empty() || name.front() == '.' ? "output" + name : name;
}

/// The header of a .npy file. Its length doesn't depend on the number of images, so that it can be overwritten at the
/// end.
std::string header(std::int64_t images, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kNumberWidth = 20, kBegin = 10, kAlignment = 64;
  std::string extents = fmt::format("{},", images);
  for (const std::int64_t extent : shape) extents += fmt::format(" {},", extent);
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }";
  const std::size_t longest = kBegin + text.size() - fmt::format("{}", images).size() + kNumberWidth + 1;
  const std::size_t whole = (longest + kAlignment - 1) / kAlignment * kAlignment - kBegin;
  text.resize(whole - 1, ' ');
  const auto low = static_cast<char>(whole & 0xff), high = static_cast<char>(whole >> 8);
  return std::string("\x93NUMPY\x01\x00", 8) + low + high + text + "\n";
}

}  // namespace

RawOutputs::RawOutputs(fs::path folder, OutputShapes shapes) : folder_(std::move(folder)), shapes_(std::move(shapes)) {
  names_.open(folder_ / "files.txt", std::ios::trunc);
  std::set<std::string> taken;
  for (const auto& [output, shape] : shapes_) {
    const std::string plain = file_name(output);
    std::string name = plain;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", plain, i);
    File& file = files_[output];
    file.path = folder_ / (name + ".npy");
    file.stream.open(file.path, std::ios::binary | std::ios::trunc);
    if (!(file.stream << header(0, shape)))
      throw Error(fmt::format("'{}' can't be written: {}", file.path.string(), std::strerror(errno)));
  }
}

void RawOutputs::add(const std::string& image, const task::Prediction& prediction) {
  ++images_;
  names_ << one_line(image) << '\n';
  for (auto& [output, file] : files_) {
    const auto values = prediction.outputs.at(output);
    file.stream.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  }
}

void RawOutputs::finish() {
  names_.close();
  bool is_whole = !names_.fail();
  for (auto& [output, file] : files_) {
    file.stream.seekp(0);
    file.stream << header(images_, shapes_.at(output));
    file.stream.close();
    is_whole = is_whole && !file.stream.fail();
  }
  if (!is_whole) {
    throw Error(
        fmt::format("the outputs in '{}' could not be written to their end: is the disk full?", folder_.string()));
  }
}

}  // namespace evener::job
