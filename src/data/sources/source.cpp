#include "data/sources/source.h"

namespace evener::data {

void note_classes(const std::vector<std::string>& names, const std::string& one, const std::string& many,
                  Source& source) {
  constexpr std::size_t kEach = 3;
  if (names.size() <= kEach) {
    for (const std::string& name : names) source.notes.push_back("the class '" + name + "' " + one);
    return;
  }
  std::string text = std::to_string(names.size()) + " classes " + many + ":";
  for (std::size_t i = 0; i < kEach; ++i) text += " '" + names[i] + "',";
  source.notes.push_back(text + " ...");
}

void note_empty_classes(Source& source) {
  const std::vector<std::string>& classes = source.dataset->classes();
  std::vector<bool> has_images(classes.size());
  for (std::size_t i = 0; i < source.dataset->size(); ++i) {
    has_images[static_cast<std::size_t>(label_of(*source.dataset, i))] = true;
  }
  std::vector<std::string> empty;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!has_images[c]) empty.push_back(classes[c]);
  }
  const std::string why = " no image, as no label has that number: a network has an output for it that learns nothing";
  note_classes(empty, "has" + why, "have" + why, source);
}

}  // namespace evener::data
