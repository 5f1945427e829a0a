#include "task/detect/lettering.h"

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace evener::task {
namespace {

namespace fs = std::filesystem;

constexpr char32_t kNoCharacter = 0xFFFD;

/// What names of classes are best read in, and then fonts of many scripts, before all others.
constexpr std::array<std::string_view, 12> kBestFonts = {
    "DejaVuSans.ttf", "NotoSans-Regular",     "NotoSans[",          "LiberationSans-Regular", "Ubuntu-R", "FreeSans",
    "Roboto-Regular", "NotoSansCJK-Regular.", "NotoSansCJKjp-Regu", "DroidSansFallback",      "ipaexg",   "wqy-"};

/// The smaller, the sooner a font is asked.
std::size_t rank_of(const fs::path& font) {
  const std::string name = font.filename().string();
  const auto found = std::ranges::find_if(kBestFonts, [&](std::string_view best) { return name.starts_with(best); });
  if (found != kBestFonts.end()) return static_cast<std::size_t>(found - kBestFonts.begin());
  const bool is_plain = name.find("Regular") != std::string::npos && name.find("Mono") == std::string::npos;
  return kBestFonts.size() + (is_plain ? 0 : 1);
}

/// The font files below the folders, the best first.
std::vector<fs::path> fonts_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> fonts;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string ending = at->path().extension().string();
      if (ending == ".ttf" || ending == ".otf" || ending == ".ttc" || ending == ".TTF") fonts.push_back(at->path());
    }
  }
  std::ranges::sort(fonts, {}, [](const fs::path& font) { return std::pair(rank_of(font), font); });
  return fonts;
}

/// Takes the first character off `text`, which is not empty; bytes that are no UTF-8 one by one.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  char32_t character = length == 1 ? first : first & (0x7FU >> length);
  bool is_good = length > 0 && length <= text.size();
  for (std::size_t i = 1; is_good && i < length; ++i) {
    is_good = byte(i) >> 6 == 2;
    character = character << 6 | (byte(i) & 0x3FU);
  }
  text.remove_prefix(is_good ? length : 1);
  return is_good ? character : kNoCharacter;
}

}  // namespace

std::vector<fs::path> font_folders() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  std::vector<fs::path> folders;
  if (std::string given = folder("EVENER_FONTS"); !given.empty()) {
    for (std::size_t end = 0; end != std::string::npos; given.erase(0, end == std::string::npos ? end : end + 1)) {
      end = given.find(':');
      folders.emplace_back(given.substr(0, end));
    }
    return folders;
  }
  if (const std::string home = folder("HOME"); !home.empty()) {
    const std::string data = folder("XDG_DATA_HOME");
    folders.push_back(fs::path(data.empty() ? home + "/.local/share" : data) / "fonts");
    folders.push_back(fs::path(home) / ".fonts");
  }
  folders.emplace_back("/usr/local/share/fonts");
  folders.emplace_back("/usr/share/fonts");
  return folders;
}

/// The library with the fonts, each of which is opened when it is needed.
class Lettering::Fonts {
 public:
  explicit Fonts(const std::vector<fs::path>& folders) {
    if (FT_Init_FreeType(&library_) != 0) return;
    for (fs::path& path : fonts_in(folders)) {
      fonts_.push_back({.path = std::move(path)});
      // The first has to be good: it is asked in any case.
      if (fonts_.size() == 1 && open(fonts_.front()) == nullptr) fonts_.clear();
    }
  }
  ~Fonts() {
    for (const Font& font : fonts_) {
      if (font.face != nullptr) FT_Done_Face(font.face);
    }
    if (library_ != nullptr) FT_Done_FreeType(library_);
  }
  Fonts(const Fonts&) = delete;
  Fonts& operator=(const Fonts&) = delete;

  bool any() const { return !fonts_.empty(); }

  TextMask draw(std::string_view text, std::int64_t height) {
    const std::lock_guard lock(mutex_);
    const FT_Face main = fonts_.front().face;
    // Ascenders and descenders of the main font fill the line, within which the others' letters find their place.
    const double units = std::max<double>(1, main->ascender - main->descender);
    const double size = static_cast<double>(height) * main->units_per_EM / units;
    const auto pixels = static_cast<FT_UInt>(std::max(1.0, size));
    const auto baseline = static_cast<std::int64_t>(static_cast<double>(height) * main->ascender / units);
    TextMask mask{text_width(text, pixels), height, {}};
    mask.ink.resize(static_cast<std::size_t>(mask.width * mask.height));
    std::int64_t x = 0;
    while (!text.empty()) {
      const Letter& letter = drawn(take_character(text), pixels);
      blend(mask, letter, x + letter.left, baseline - letter.top);
      x += letter.advance;
    }
    return mask;
  }

 private:
  struct Font {
    fs::path path;
    FT_Face face = nullptr;
    bool is_broken = false;
  };

  /// `left` and `top`: where the ink begins, from the pen to the right and from the baseline upwards.
  struct Letter {
    std::int64_t left = 0, top = 0, advance = 0, width = 0, rows = 0;
    std::vector<std::uint8_t> ink;
  };

  /// nullptr for a file that is no font with outlines and Unicode.
  FT_Face open(Font& font) {
    if (font.face != nullptr || font.is_broken) return font.face;
    FT_Face face = nullptr;
    font.is_broken = FT_New_Face(library_, font.path.c_str(), 0, &face) != 0;
    if (!font.is_broken && (!FT_IS_SCALABLE(face) || face->charmap == nullptr || face->units_per_EM == 0 ||
                            face->charmap->encoding != FT_ENCODING_UNICODE)) {
      FT_Done_Face(face);
      font.is_broken = true;
    }
    if (!font.is_broken) font.face = face;
    return font.face;
  }

  /// The first font that has the character; the first of all where none has it.
  FT_Face face_with(char32_t character) {
    const auto [found, is_new] = face_of_.try_emplace(character, fonts_.front().face);
    for (auto font = fonts_.begin(); is_new && font != fonts_.end(); ++font) {
      if (open(*font) == nullptr || FT_Get_Char_Index(font->face, character) == 0) continue;
      found->second = font->face;
      break;
    }
    return found->second;
  }

  /// Boxes of one kind have the same words on thousands of pictures, and drawing a letter takes far longer than copying
  /// it; of photos in many sizes not all letters are kept. What can't be drawn has no ink and no width.
  const Letter& drawn(char32_t character, FT_UInt pixels) {
    constexpr std::size_t kMostLetters = 4096;
    if (letters_.size() >= kMostLetters) letters_.clear();
    const auto [found, is_new] = letters_.try_emplace({character, pixels});
    const FT_Face face = is_new ? face_with(character) : nullptr;
    if (is_new && FT_Set_Pixel_Sizes(face, 0, pixels) == 0 && FT_Load_Char(face, character, FT_LOAD_RENDER) == 0) {
      found->second = letter_of(*face->glyph);
    }
    return found->second;
  }

  static Letter letter_of(const FT_GlyphSlotRec& glyph) {
    const FT_Bitmap& bitmap = glyph.bitmap;
    Letter letter{
        glyph.bitmap_left, glyph.bitmap_top, std::max<std::int64_t>(0, (glyph.advance.x + 32) >> 6), 0, 0, {}};
    if (bitmap.pixel_mode != FT_PIXEL_MODE_GRAY) return letter;
    letter.width = bitmap.width;
    letter.rows = bitmap.rows;
    for (std::int64_t row = 0; row < letter.rows; ++row) {
      const std::uint8_t* first = bitmap.buffer + row * bitmap.pitch;
      letter.ink.insert(letter.ink.end(), first, first + letter.width);
    }
    return letter;
  }

  std::int64_t text_width(std::string_view text, FT_UInt pixels) {
    std::int64_t width = 0;
    while (!text.empty()) width += drawn(take_character(text), pixels).advance;
    return width;
  }

  /// Lays a letter with its upper left corner on (left, top); what lies outside of the mask is cut off.
  static void blend(TextMask& mask, const Letter& letter, std::int64_t left, std::int64_t top) {
    for (std::int64_t row = 0; row < letter.rows; ++row) {
      const std::int64_t y = top + row;
      if (y < 0 || y >= mask.height) continue;
      for (std::int64_t column = 0; column < letter.width; ++column) {
        const std::int64_t x = left + column;
        if (x < 0 || x >= mask.width) continue;
        std::uint8_t& ink = mask.ink[static_cast<std::size_t>(y * mask.width + x)];
        ink = std::max(ink, letter.ink[static_cast<std::size_t>(row * letter.width + column)]);
      }
    }
  }

  std::mutex mutex_;  // faces hold one letter at a time
  FT_Library library_ = nullptr;
  std::vector<Font> fonts_;  // the best first
  std::map<char32_t, FT_Face> face_of_;
  std::map<std::pair<char32_t, FT_UInt>, Letter> letters_;  // by character and size in pixels
};

Lettering::Lettering(const std::vector<fs::path>& folders) : fonts_(std::make_unique<Fonts>(folders)) {}
Lettering::~Lettering() = default;

bool Lettering::has_fonts() const {
  return fonts_->any();
}

TextMask Lettering::draw(std::string_view text, std::int64_t height) const {
  if (!fonts_->any() || text.empty() || height < 1) return {};
  return fonts_->draw(text, height);
}

}  // namespace evener::task
