// Draws text for pictures, in the fonts that are installed.
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

/// The folders of fontconfig's default settings, or those that the environment variable EVENER_FONTS names, separated
/// by colons.
std::vector<std::filesystem::path> font_folders();

/// Draws text with the TrueType and OpenType fonts anywhere below some folders: in a plain sans-serif font, and
/// characters that it lacks (Japanese, say) in any other font that has them. A character that no font has becomes an
/// empty box. Thread-safe.
class Lettering {
 public:
  explicit Lettering(const std::vector<std::filesystem::path>& folders = font_folders());
  ~Lettering();
  Lettering(const Lettering&) = delete;
  Lettering& operator=(const Lettering&) = delete;

  /// Whether any font was found; without one, masks are empty.
  bool has_fonts() const;

  /// Draws one line of text in UTF-8 as a mask of `height` pixels. Bytes that are not UTF-8 become empty boxes. The
  /// mask is empty without fonts or text.
  TextMask draw(std::string_view text, std::int64_t height) const;

 private:
  class Fonts;
  std::unique_ptr<Fonts> fonts_;
};

}  // namespace evener::task
