#include "detect/drawing/draw.h"

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace evener::detection {
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

constexpr Colour kColours[] = {{213, 94, 0},    {0, 114, 178},  {0, 158, 115}, {230, 159, 0},
                               {204, 121, 167}, {86, 180, 233}, {240, 228, 66}};

/// Of the shorter side of a picture, so that boxes are seen as well on a large one; and the least in pixels.
constexpr double kLineShare = 0.004, kTextShare = 0.028;
constexpr std::int64_t kLeastLine = 2, kLeastText = 12;

constexpr Colour kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

bool is_bright(const Colour& colour) {
  return 2 * colour[0] + 5 * colour[1] + colour[2] > 8 * 140;
}

data::Picture coloured(data::Picture picture) {
  if (picture.channels == 3) return picture;
  data::Picture rgb = data::Picture::unset(3, picture.height, picture.width);
  for (std::int64_t i = 0; i < picture.height * picture.width; ++i) {
    std::fill_n(rgb.pixels.get() + 3 * i, 3, picture.pixels[static_cast<std::size_t>(i)]);
  }
  return rgb;
}

/// Draws on a picture of colours, where it is.
class Pencil {
 public:
  Pencil(data::Picture& picture, const Lettering& lettering)
      : picture_(picture),
        lettering_(lettering),
        line_(share_of(kLineShare, kLeastLine)),
        edge_(std::max<std::int64_t>(1, line_ / 4)),
        text_(share_of(kTextShare, kLeastText)) {}

  /// Lines have a thin edge of the opposite brightness, so that they are seen on their own colour too.
  void frame(const DrawnBox& box) {
    const auto x1 = std::llround(box.x1), y1 = std::llround(box.y1);
    const auto x2 = std::max<std::int64_t>(x1 + 1, std::llround(box.x2));
    const auto y2 = std::max<std::int64_t>(y1 + 1, std::llround(box.y2));
    const Colour edge = is_bright(box.colour) ? kBlack : kWhite;
    frame(x1 - edge_, y1 - edge_, x2 + edge_, y2 + edge_, line_ + 2 * edge_, edge, box.is_dashed);
    frame(x1, y1, x2, y2, line_, box.colour, box.is_dashed);
  }

  void label(const DrawnBox& box) {
    const TextMask text = lettering_.draw(box.text, text_);
    if (text.width == 0) return;
    const std::int64_t margin = std::max<std::int64_t>(2, text_ / 5);
    const std::int64_t width = text.width + 2 * margin, height = text.height + margin;
    const std::int64_t x = std::clamp<std::int64_t>(std::llround(box.x1) - edge_, 0, most(picture_.width - width));
    std::int64_t y = std::llround(box.y1) - height;
    if (y < 0) y = std::clamp<std::int64_t>(std::llround(box.y1), 0, most(picture_.height - height));
    fill(x, y, x + width, y + height, box.colour);
    write(text, x + margin, y + margin / 2, is_bright(box.colour) ? kBlack : kWhite);
  }

 private:
  static std::int64_t most(std::int64_t corner) { return std::max<std::int64_t>(0, corner); }

  std::int64_t share_of(double share, std::int64_t least) const {
    return std::max<std::int64_t>(least,
                                  std::llround(share * static_cast<double>(std::min(picture_.height, picture_.width))));
  }

  void frame(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, std::int64_t thick,
             const Colour& colour, bool is_dashed) {
    line(x1, y1, x2, y1 + thick, colour, is_dashed);
    line(x1, y2 - thick, x2, y2, colour, is_dashed);
    line(x1, y1, x1 + thick, y2, colour, is_dashed);
    line(x2 - thick, y1, x2, y2, colour, is_dashed);
  }

  void fill(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const Colour& colour) {
    x1 = std::max<std::int64_t>(x1, 0), x2 = std::min(x2, picture_.width);
    for (std::int64_t y = std::max<std::int64_t>(y1, 0); y < std::min(y2, picture_.height); ++y) {
      for (std::int64_t x = x1; x < x2; ++x) std::memcpy(picture_.row(y) + 3 * x, colour.data(), 3);
    }
  }

  void line(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, const Colour& colour, bool is_dashed) {
    if (!is_dashed) return fill(x1, y1, x2, y2, colour);
    const std::int64_t dash = 4 * line_;
    const bool is_flat = x2 - x1 > y2 - y1;
    const std::int64_t end = is_flat ? x2 : y2;
    for (std::int64_t at = is_flat ? x1 : y1; at < end; at += 2 * dash) {
      const std::int64_t stop = std::min(at + dash, end);
      is_flat ? fill(at, y1, stop, y2, colour) : fill(x1, at, x2, stop, colour);
    }
  }

  void write(const TextMask& text, std::int64_t left, std::int64_t top, const Colour& ink) {
    const std::int64_t rows = std::min(text.height, picture_.height - top);
    const std::int64_t columns = std::min(text.width, picture_.width - left);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const int share = text.ink[static_cast<std::size_t>(row * text.width + column)];
        std::uint8_t* pixel = picture_.row(top + row) + 3 * (left + column);
        for (std::size_t c = 0; c < 3; ++c) {
          pixel[c] = static_cast<std::uint8_t>((ink[c] * share + pixel[c] * (255 - share) + 127) / 255);
        }
      }
    }
  }

  data::Picture& picture_;
  const Lettering& lettering_;
  const std::int64_t line_, edge_, text_;  // pixels
};

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

Colour class_colour(std::int32_t label) {
  return kColours[static_cast<std::size_t>(label) % std::size(kColours)];
}

data::Picture with_boxes(data::Picture picture, std::span<const DrawnBox> boxes, const Lettering& lettering) {
  data::Picture drawn = coloured(std::move(picture));
  Pencil pencil(drawn, lettering);
  for (const DrawnBox& box : boxes) pencil.frame(box);
  for (const DrawnBox& box : boxes) pencil.label(box);
  return drawn;
}

data::Picture cut_out(const data::Picture& picture, const Detection& box) {
  const auto first = [](float corner, std::int64_t extent) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(corner)), 0, extent - 1);
  };
  const auto end = [](float corner, std::int64_t begin, std::int64_t extent) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(corner)), begin + 1, extent);
  };
  const std::int64_t x = first(box.x1, picture.width), y = first(box.y1, picture.height);
  const std::int64_t width = end(box.x2, x, picture.width) - x, height = end(box.y2, y, picture.height) - y;
  return data::part_of(picture, {x, y, width, height});
}

}  // namespace evener::detection
