// Options as the command line has them, by name: {"lr", 0.05} is --lr 0.05, {"model", "resnet18"} is MODEL.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace evener {

/// What an option is set to: a text, a number, true or false for a switch, or several texts.
class OptionValue {
 public:
  OptionValue(const char* text) : words_{text} {}
  OptionValue(std::string text) : words_{std::move(text)} {}
  OptionValue(const std::filesystem::path& path) : words_{path.string()} {}
  OptionValue(std::vector<std::string> words) : words_(std::move(words)) {}
  OptionValue(std::initializer_list<std::string> words) : words_(words) {}
  template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  OptionValue(Number number) : OptionValue(of_number(number)) {}
  OptionValue(double number);

  /// The texts, as they would be typed on the command line.
  const std::vector<std::string>& words() const { return words_; }
  bool is_truth() const { return is_truth_; }

 private:
  template <class Number>
  static OptionValue of_number(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      OptionValue value(number ? "true" : "false");
      value.is_truth_ = true;
      return value;
    } else {
      return {std::to_string(number)};
    }
  }

  std::vector<std::string> words_;
  bool is_truth_ = false;
};

/// The options of a job. Names are those of --help without "--"; '_' may stand for '-'. Nothing is checked here: the
/// job throws UsageError for an unknown name, offering the nearest one, and for a wrong value.
///     evener::Options options{{"model", "resnet18"}, {"data", "photos/"}, {"epochs", 5}};
class Options {
 public:
  using Values = std::vector<std::pair<std::string, OptionValue>>;

  Options() = default;
  Options(std::initializer_list<Values::value_type> values) : values_(values) {}

  /// Sets an option; the last value of a name counts.
  Options& set(std::string name, OptionValue value) {
    values_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  const Values& values() const { return values_; }

 private:
  Values values_;
};

/// One option of a job, as --help describes it.
struct OptionDescription {
  enum class Kind { kSwitch, kOneValue, kManyValues, kSwitchOrValue };

  std::string name;                  // "lr"
  Kind kind = Kind::kOneValue;       // a kSwitchOrValue takes true or a value
  std::string value;                 // the word that stands for its value: "RATE"; empty for a switch
  std::string value_kind;            // "a number", "a whole number", "one of a, b", or as `value`
  std::string help;                  // a sentence
  std::string default_text;          // empty: there is none to show
  std::vector<std::string> choices;  // the only values allowed; empty: any
  bool required = false;
};

/// The options of a job, in the order of --help: "train", "infer", "faces", "detect", "quantize", "sweep", or "load"
/// for those of a LoadedNetwork. Throws UsageError for another name.
std::vector<OptionDescription> options_of(const std::string& job);

}  // namespace evener
