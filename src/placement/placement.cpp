#include "placement/placement.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/names.h"
#include "base/numbers.h"

namespace evener::placement {
namespace {

const std::vector<std::string> kDeviceNames = {"cpu", "cuda", "opencl", "intel", "npu", "auto"};
constexpr std::size_t kLongestText = 2000;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Recursive descent over the text; `at_` is the next character.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Placement parse() {
    Placement result;
    result.text = text_;
    if (text_.empty()) fail(0, "it is empty; try 'cpu', 'cpu/t4' or 'cuda:0'");
    if (text_.size() > kLongestText) fail(0, "it has more than " + std::to_string(kLongestText) + " characters");
    if (text_ == "auto") {
      result.automatic = true;
      return result;
    }
    int replicas = 0;
    while (true) {
      result.replicas.push_back(parse_replica());
      replicas += result.replicas.back().count;
      if (replicas > kMostReplicas) {
        fail(result.replicas.back().column, "more than " + std::to_string(kMostReplicas) + " replicas");
      }
      if (at_ == text_.size()) return result;
      if (!accept("+")) fail_at_separator();
    }
  }

 private:
  [[noreturn]] void fail(std::size_t column, const std::string& reason) const {
    throw placement_error(text_, column, "is not understood", reason);
  }

  // The error for characters after a complete stage that can't follow it.
  [[noreturn]] void fail_at_separator() const {
    switch (text_[at_]) {
      case ',':
        fail(at_, "one placement is expected here; commas separate the placements of a sweep");
      case '.':
        fail(at_, "stages are joined by two dots, as in 'cuda:0..cuda:1'");
      case '/':
        fail(at_, "'/t' comes once, before '@', as in 'cpu/t4@0.5'");
      case '@':
        fail(at_, "'@' comes once per stage");
      case ':':
        fail(at_, "a device number comes once, right after the device, as in 'cuda:0'");
      default:
        fail(at_, std::string("'") + text_[at_] + "' can't stand here; replicas are joined by '+'");
    }
  }

  bool accept(std::string_view token) {
    if (std::string_view(text_).substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  ReplicaGroup parse_replica() {
    ReplicaGroup group;
    group.column = at_;
    if (at_ < text_.size() && is_digit(text_[at_])) {
      group.count = parse_number("the number of replicas", 1, kMostReplicas);
      if (!accept("x")) fail(at_, "an 'x' must follow the number of replicas, as in '4xcpu/t1'");
    }
    do {
      group.stages.push_back(parse_stage());
    } while (accept(".."));
    const auto all = std::ranges::find_if(group.stages, &Stage::all);
    if (all != group.stages.end() && (group.stages.size() > 1 || group.count > 1)) {
      fail(all->column, "'cuda:all' already means one replica per GPU, so it takes no 'N x' and no further stage");
    }
    return group;
  }

  Stage parse_stage() {
    Stage stage;
    stage.column = at_;
    stage.kind = parse_device();
    if (accept(":")) parse_index(stage);
    if (accept("/")) {
      if (!accept("t")) fail(at_, "after '/' comes 't' and a number of threads, as in 'cpu/t8'");
      if (stage.kind != DeviceKind::kCpu) {
        fail(at_ - 2,
             std::string("'/t' gives the threads of a CPU; '") + device_kind_name(stage.kind) + "' takes none");
      }
      stage.threads = parse_number("the number of threads", 1, kMostThreads);
    }
    if (accept("@")) stage.factor = parse_factor();
    return stage;
  }

  DeviceKind parse_device() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (name.empty()) fail_without_device(begin);
    if (name == "auto") fail(begin, "'auto' stands alone");
    for (const auto kind :
         {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kOpencl, DeviceKind::kIntel, DeviceKind::kNpu}) {
      if (name == device_kind_name(kind)) return kind;
    }
    if (name == "gpu") fail(begin, "a GPU is called cuda (NVIDIA), opencl or intel");
    fail(begin, unknown_name_message("device", name, kDeviceNames));
  }

  [[noreturn]] void fail_without_device(std::size_t begin) const {
    const std::string_view before = std::string_view(text_).substr(0, begin);
    const std::string where = begin == text_.size() ? "at the end" : "here";
    if (before.ends_with("..")) fail(begin, "a stage is missing " + where + ", after '..'");
    if (before.ends_with("+")) fail(begin, "a replica is missing " + where + ", after '+'");
    if (before.ends_with("x")) fail(begin, "a device is missing " + where + ", after '" + "x'");
    fail(begin, "a device is missing " + where + "; known: cpu, cuda, opencl, intel, npu");
  }

  void parse_index(Stage& stage) {
    if (stage.kind == DeviceKind::kCpu || stage.kind == DeviceKind::kNpu) {
      fail(at_ - 1, std::string("'") + device_kind_name(stage.kind) + "' takes no number" +
                        (stage.kind == DeviceKind::kCpu ? "; threads are given as in 'cpu/t4'" : ""));
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_]) && !is_digit(text_[at_])) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word.empty()) {
      stage.index = parse_number("the device's number", 0, kMostDevices - 1);
    } else if (word == "all" && stage.kind == DeviceKind::kCuda) {
      stage.all = true;
    } else if (word == "all") {
      fail(begin, "only 'cuda' knows ':all'");
    } else {
      fail(begin, "a device number" + std::string(stage.kind == DeviceKind::kCuda ? " or 'all'" : "") +
                      " is expected, not '" + word + "'");
    }
  }

  int parse_number(const std::string& what, int least, int most) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == begin) fail(begin, what + " is missing" + (begin == text_.size() ? " at the end" : ""));
    const auto value = to_number<int>(text_.substr(begin, at_ - begin));
    if (!value || *value < least || *value > most) {
      fail(begin, what + " must be from " + std::to_string(least) + " to " + std::to_string(most) + ", not " +
                      text_.substr(begin, std::min<std::size_t>(at_ - begin, 24)));
    }
    return *value;
  }

  double parse_factor() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    // One dot belongs to the number, two dots begin the next stage.
    if (at_ < text_.size() && text_[at_] == '.' && std::string_view(text_).substr(at_, 2) != "..") {
      ++at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    }
    if (at_ == begin) {
      fail(begin, "after '@' comes a number between 0 and 1, as in 'cpu/t1@0.5' (the fraction of its speed)");
    }
    const double value = to_number<double>(text_.substr(begin, at_ - begin)).value_or(0);
    if (!(value > 0 && value < 1)) {
      fail(begin, "the factor must lie between 0 and 1 (exclusive), not " + text_.substr(begin, at_ - begin) +
                      "; '@0.5' emulates a device of half the speed");
    }
    return value;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::string stage_text(const Stage& stage) {
  std::string text = device_kind_name(stage.kind);
  if (stage.all) text += ":all";
  if (stage.index) text += ":" + std::to_string(*stage.index);
  if (stage.threads) text += "/t" + std::to_string(*stage.threads);
  if (stage.factor) {
    std::array<char, 400> digits{};  // fixed notation of the smallest double has 326 digits
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), *stage.factor, std::chars_format::fixed);
    text += "@" + std::string(digits.data(), end.ptr);
  }
  return text;
}

}  // namespace

Placement parse(const std::string& text) {
  return Parser(text).parse();
}

std::string to_text(const Placement& placement) {
  if (placement.automatic) return "auto";
  std::string text;
  for (const ReplicaGroup& group : placement.replicas) {
    if (!text.empty()) text += '+';
    if (group.count != 1) text += std::to_string(group.count) + "x";
    for (std::size_t i = 0; i < group.stages.size(); ++i) text += (i ? ".." : "") + stage_text(group.stages[i]);
  }
  return text;
}

UsageError placement_error(const std::string& text, std::size_t column, const std::string& summary,
                           const std::string& reason) {
  std::string shown = text;
  std::ranges::replace_if(
      shown, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  const std::string pointer(column, ' ');  // the text before the column is ASCII, so bytes are columns
  return UsageError("placement '" + shown + "' " + summary + ": " + reason + "\n  " + shown + "\n  " + pointer + "^");
}

}  // namespace evener::placement
