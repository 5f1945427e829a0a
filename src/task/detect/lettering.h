// Text for pictures, in the fonts that are installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace evener::task {

/// How much ink lies on each pixel, from 0 to 255; rows from top to bottom.
struct TextMask {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> ink;
};

/// The folders in which fonts usually lie: those of fontconfig's own settings. EVENER_FONTS names others instead, with
/// colons between.
std::vector<std::filesystem::path> font_folders();

/// Draws text with TrueType and OpenType fonts of some folders, with all that is below them: a plain sans-serif one
/// first, and what it lacks (Japanese, say) with whichever other has it. A character that no font has is an empty box.
/// Thread-safe.
class Lettering {
 public:
  explicit Lettering(const std::vector<std::filesystem::path>& folders = font_folders());
  ~Lettering();
  Lettering(const Lettering&) = delete;
  Lettering& operator=(const Lettering&) = delete;

  /// Whether there is any font; without one no text has a mask.
  bool has_fonts() const;

  /// One line of text in UTF-8; `height`: of the line in pixels, which the mask has. Bytes that are no UTF-8 count as
  /// characters that no font has. Empty without fonts or text.
  TextMask draw(std::string_view text, std::int64_t height) const;

 private:
  class Fonts;
  std::unique_ptr<Fonts> fonts_;
};

}  // namespace evener::task
