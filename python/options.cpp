#include "options.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

std::string text_from(const std::string& name, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) return nb::cast<std::string>(nb::str(value));
  if (nb::hasattr(value, "__fspath__")) return nb::cast<std::string>(nb::str(value.attr("__fspath__")()));
  if (nb::hasattr(value, "__index__")) return nb::cast<std::string>(nb::str(value.attr("__index__")()));
  if (nb::hasattr(value, "__float__")) return nb::cast<std::string>(nb::str(value.attr("__float__")()));
  const std::string type = nb::cast<std::string>(nb::str(nb::handle(value.type()).attr("__name__")));
  throw nb::type_error(("the option '" + name + "' can't be a " + type +
                        ": give a text, a path, a number, True or False, or a list of them")
                           .c_str());
}

evener::OptionValue value_from(const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.is(Py_True);
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::vector<std::string> words;
    for (nb::handle word : value) words.push_back(text_from(name, word));
    return words;
  }
  return text_from(name, value);
}

const char* kind_name(evener::OptionDescription::Kind kind) {
  switch (kind) {
    case evener::OptionDescription::Kind::kSwitch:
      return "switch";
    case evener::OptionDescription::Kind::kOneValue:
      return "value";
    case evener::OptionDescription::Kind::kManyValues:
      return "values";
    case evener::OptionDescription::Kind::kSwitchOrValue:
      return "switch or value";
  }
  return "";
}

}  // namespace

evener::Options options_from(const nb::dict& keywords) {
  evener::Options options;
  for (const auto& [key, value] : keywords) {
    std::string name = nb::cast<std::string>(key);
    if (!name.empty() && name.back() == '_') name.pop_back();
    if (!value.is_none()) options.set(name, value_from(name, value));
  }
  return options;
}

nb::list options_of(const std::string& job) {
  nb::list all;
  for (const evener::OptionDescription& option : evener::options_of(job)) {
    nb::dict told;
    told["name"] = option.name;
    told["kind"] = kind_name(option.kind);
    told["value"] = option.value;
    told["value_kind"] = option.value_kind;
    told["help"] = option.help;
    told["default"] = option.default_text.empty() ? nb::none() : nb::cast(option.default_text);
    told["choices"] = option.choices;
    told["required"] = option.required;
    all.append(told);
  }
  return all;
}
