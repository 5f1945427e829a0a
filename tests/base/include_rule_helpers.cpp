#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/include_rule.h"

namespace evener::test {
namespace {

using Rooms = std::set<std::string>;

Rooms plus(Rooms rooms, const Rooms& more) {
  rooms.insert(more.begin(), more.end());
  return rooms;
}

// What each room may include besides itself; anything not listed is forbidden.
const std::map<std::string, Rooms>& allowed_rooms() {
  static const std::map<std::string, Rooms> allowed = [] {
    // Downwards: a room may include those of all rows before its own. Rooms of one row don't know each other.
    static const std::vector<std::vector<const char*>> kRows = {{"base"},
                                                                {"record", "weights", "comm", "placement"},
                                                                {"network", "data", "report"},
                                                                {"engine"},
                                                                {"parallel"},
                                                                {"measure"},
                                                                {"options"},
                                                                {"infer", "matmul", "sweep"},
                                                                {"detect"},
                                                                {"faces", "quantize", "serve"},
                                                                {"train"},
                                                                {"app", "library"}};
    std::map<std::string, Rooms> rule;
    rule["evener"] = {};  // include/evener/, the installed headers: what base and the library see
    Rooms below = {"evener"};
    for (const auto& row : kRows) {
      for (const char* room : row) rule[room] = below;
      below.insert(row.begin(), row.end());
      below.erase("evener");
    }
    rule["library"].insert("evener");
    // Less than what stands below them.
    rule["network"] = rule["data"] = {"base", "weights"};
    rule["report"] = {"base", "record"};
    rule["engine"] = {"base", "weights", "network", "data"};
    rule["parallel"] = plus(rule["engine"], {"engine", "comm", "placement"});
    rule["measure"] = {"base", "record", "placement", "parallel"};
    rule["options"] = {"base", "network", "data", "placement", "measure"};
    rule["sweep"] = {"base", "record", "report", "placement", "measure", "options"};
    return rule;
  }();
  return allowed;
}

struct Vendor {
  const char* pattern;  // of the included name
  const char* place;    // the only folder, or file, that may include it
};
const Vendor kVendors[] = {
    {"^(torch|ATen|c10|caffe2|at)/", "engine/torch"},
    {"^openvino/", "engine/openvino"},
    {"^mpi\\.h$", "comm/mpi"},
    {"^nccl", "comm/nccl"},
    {"^(cuda|cublas|cudnn|nvrtc|nvml|curand)", "engine/native_mlp/cuda"},
    {"^CL/", "engine/native_mlp/opencl"},
    {"^hwloc", "base"},
    {"^CLI/", "app/command_line/parser.cpp"},
    {"^((curl|openssl)/|archive)", "data/fetch/web_module"},
    {"^microhttpd", "serve/http/http_module"},
    {"^(onnx|google/protobuf)/", "network/onnx"},
    {"^libheif/", "data/codecs/heif_module"},
    {"^avif/", "data/codecs/avif_module"},
    {"^jxl/", "data/codecs/jxl_module"},
    {"^libraw/", "data/codecs/raw_module"},
    {"^tiff", "data/codecs/tiff_module"},
    {"^pugixml", "data/sources"},
    {"^yaml-cpp", "data/sources"},
    {"^omp\\.h$", "engine/torch"},
};

bool is_header(const std::string& path) {
  return path.ends_with(".h") || path.ends_with(".cuh");
}

std::string first_folder(const std::string& path) {
  const auto slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// What is wrong with one included name; "" if nothing.
std::string complaint(const std::string& path, const std::string& name, bool quoted) {
  for (const Vendor& vendor : kVendors) {
    const bool may = path == vendor.place || path.starts_with(std::string(vendor.place) + "/");
    if (std::regex_search(name, std::regex(vendor.pattern)) && !may) {
      return "'" + name + "' may only be included in " + vendor.place;
    }
  }
  if (is_header(path) && (name.starts_with("fmt/") || name.starts_with("spdlog/"))) {
    return "'" + name + "' may not stand in a header (torch ships another fmt)";
  }
  const std::string room = first_folder(path), other = first_folder(name);
  const auto& rule = allowed_rooms();
  if (!rule.contains(other)) {
    return quoted ? "'" + name + "' does not start with the name of a room" : "";
  }
  if (!quoted) return "'" + name + "' is ours and belongs in quotes";
  if (other == room || rule.at(room).contains(other)) return "";
  return room + " may not include " + other + " ('" + name + "')";
}

}  // namespace

std::vector<Violation> check_includes(const std::string& path, std::string_view text) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  static const std::regex kCondition(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b)");
  const std::string room = first_folder(path);
  if (!allowed_rooms().contains(room)) return {{0, "'" + room + "' is not a room"}};
  std::vector<Violation> violations;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (is_header(path) && std::regex_search(line, kCondition)) {
      violations.push_back({number, "a header has no #if: the build picks files"});
    }
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string what = complaint(path, match[2], match[1] == "\"");
    if (!what.empty()) violations.push_back({number, what});
  }
  return violations;
}

std::vector<std::string> folder_circles(const std::map<std::string, std::string>& files) {
  static const std::regex kInclude("#\\s*include\\s*\"([^\"]+)/[^/\"]+\"");
  std::map<std::string, std::set<std::string>> reached;
  for (const auto& [path, text] : files) {
    const std::string folder = path.substr(0, path.rfind('/'));
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kInclude); match != std::sregex_iterator();
         ++match) {
      const std::string other = (*match)[1];
      if (other != folder) reached[folder].insert(other);
    }
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (auto& [folder, others] : reached) {
      const std::size_t before = others.size();
      for (const std::string& other : std::set(others)) {
        if (const auto further = reached.find(other); further != reached.end()) {
          others.insert(further->second.begin(), further->second.end());
        }
      }
      grows = grows || others.size() > before;
    }
  }
  std::set<std::string> circles;
  for (const auto& [folder, others] : reached) {
    if (!others.contains(folder)) continue;
    std::string circle;
    for (const std::string& other : others) {
      const auto back = reached.find(other);
      if (back != reached.end() && back->second.contains(folder)) circle += (circle.empty() ? "" : ", ") + other;
    }
    circles.insert(circle);
  }
  return {circles.begin(), circles.end()};
}

std::map<std::string, std::set<std::string>> room_arrows(const std::map<std::string, std::string>& files) {
  static const std::regex kInclude("#\\s*include\\s*\"([^\"/]+)/[^\"]+\"");
  std::map<std::string, std::set<std::string>> arrows;
  for (const auto& [path, text] : files) {
    const std::string room = first_folder(path);
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kInclude); match != std::sregex_iterator();
         ++match) {
      if ((*match)[1] != room && (*match)[1] != "evener") arrows[room].insert((*match)[1]);
    }
  }
  return arrows;
}

std::size_t drawn_arrows(const std::map<std::string, std::set<std::string>>& arrows) {
  std::size_t drawn = 0;
  for (const auto& [room, others] : arrows) {
    std::set<std::string> implied;
    std::vector<std::string> left(others.begin(), others.end());
    while (!left.empty()) {
      const auto further = arrows.find(left.back());
      left.pop_back();
      if (further == arrows.end()) continue;
      for (const std::string& other : further->second) {
        if (implied.insert(other).second) left.push_back(other);
      }
    }
    for (const std::string& other : others) drawn += implied.contains(other) ? 0 : 1;
  }
  return drawn;
}

std::vector<int> printing_lines(const std::string& path, std::string_view text) {
  // Commands, what prints for all of them, and processes that say on stderr why they end.
  static const std::regex kMayPrint(
      R"(app/.*|.*command\.cpp|options/(output|progress_line)\.cpp|base/stop\.cpp|parallel/(hosts|launcher)\.cpp)");
  static const std::regex kPrints(R"(\bfmt::print\(|\bstd::(printf|puts|fputs|fprintf|cout|cerr)\b)");
  std::vector<int> found;
  if (std::regex_match(path, kMayPrint)) return found;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (std::regex_search(line, kPrints)) found.push_back(number);
  }
  return found;
}

std::vector<std::string> known_rooms() {
  std::vector<std::string> rooms;
  for (const auto& [room, allowed] : allowed_rooms()) rooms.push_back(room);
  return rooms;
}

}  // namespace evener::test
