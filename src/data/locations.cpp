#include "data/locations.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool is_on_disk(const std::string& location) {
  std::error_code none;
  return fs::exists(location, none);
}

bool are_one_place(const std::string& a, const std::string& b) {
  std::error_code none;
  return a == b || fs::equivalent(a, b, none);
}

}  // namespace

std::vector<std::string> locations_in(const std::string& text) {
  constexpr std::string_view kJoint = kLocationJoint;
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + kJoint.size()) {
    end = text.find(kJoint, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  const auto is_data = [](const std::string& part) { return part.starts_with("synth:") || is_on_disk(part); };
  return is_on_disk(text) || std::ranges::none_of(parts, is_data) ? std::vector<std::string>{text} : parts;
}

bool are_on_disk(const std::string& text) {
  return std::ranges::all_of(locations_in(text), is_on_disk);
}

std::string absolute_locations(const std::string& text) {
  std::string joined;
  for (const std::string& location : locations_in(text)) {
    joined += (joined.empty() ? "" : kLocationJoint) + fs::absolute(location).lexically_normal().string();
  }
  return joined;
}

bool are_same_locations(const std::string& a, const std::string& b) {
  return std::ranges::equal(locations_in(a), locations_in(b), are_one_place);
}

}  // namespace evener::data
