// Work for a C++ compiler: templates over templates, and the heavier headers; then work for what comes out.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct Fibonacci {
    static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <> struct Fibonacci<1> {
    static constexpr long value = 1;
};
template <> struct Fibonacci<0> {
    static constexpr long value = 0;
};

template <typename... Types> struct Sizes {
    static constexpr std::array<std::size_t, sizeof...(Types)> value = { sizeof(Types)... };
};

template <std::size_t... Indexes> long sum_of_squares(std::index_sequence<Indexes...>)
{
    return (static_cast<long>(Indexes * Indexes) + ...);
}

struct Leaf {
    int value;
};
struct Branch;
using Tree = std::variant<Leaf, std::unique_ptr<Branch>>;
struct Branch {
    std::vector<Tree> children;
};

static Tree grow(int depth, int width)
{
    if (depth == 0)
        return Leaf{ width };
    auto branch = std::make_unique<Branch>();
    for (int i = 0; i < width; i++)
        branch->children.push_back(grow(depth - 1, (width + i) % 4 + 1));
    return branch;
}

static long weigh(const Tree &tree)
{
    return std::visit(
        [](const auto &node) -> long {
            if constexpr (std::is_same_v<std::decay_t<decltype(node)>, Leaf>)
                return node.value;
            else
                return std::accumulate(node->children.begin(), node->children.end(), 1L,
                                       [](long sum, const Tree &child) { return sum + weigh(child); });
        },
        tree);
}

template <typename Key> static long count_words(const std::string &text)
{
    std::map<Key, std::set<std::string>> index;
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
        index[static_cast<Key>(word.size())].insert(word);
    return std::accumulate(index.begin(), index.end(), 0L, [](long sum, const auto &item) {
        return sum + static_cast<long>(item.first * item.second.size());
    });
}

int main()
{
    std::cout << Fibonacci<80>::value << ' ' << Sizes<char, int, double, long>::value[2] << ' '
              << sum_of_squares(std::make_index_sequence<300>()) << '\n';
    std::cout << weigh(grow(9, 3)) << '\n';
    std::ostringstream text;
    for (int i = 0; i < 3000; i++)
        text << "word" << i * i % 1009 << ' ';
    std::cout << count_words<int>(text.str()) << ' ' << count_words<long>(text.str()) << '\n';
    const std::regex expression("word([0-9]+)7 ");
    const std::string all = text.str();
    std::cout << std::distance(std::sregex_iterator(all.begin(), all.end(), expression), std::sregex_iterator())
              << '\n';
    std::vector<std::thread> threads;
    std::array<std::size_t, 4> sizes{};
    for (std::size_t i = 0; i < sizes.size(); i++)
        threads.emplace_back([&sizes, i] {
            std::unordered_map<std::string, std::shared_ptr<std::string>> map;
            for (std::size_t n = 0; n < 5000; n++)
                map[std::to_string(n % 1000)] = std::make_shared<std::string>(n % 100, 'x');
            sizes[i] = map.size();
        });
    for (auto &thread : threads)
        thread.join();
    std::cout << sizes[0] + sizes[3] << "\ndone\n";
}
