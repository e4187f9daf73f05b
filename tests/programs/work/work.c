/* Work for a C compiler: a small interpreter, with enough macros, loops and tables to keep an optimiser busy. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH_OPERATOR(X)                                                                                               \
    X(add, '+', a + b) X(subtract, '-', a - b) X(multiply, '*', a *b) X(divide, '/', b != 0 ? a / b : 0)
#define DEFINE_FUNCTION(name, sign, result)                                                                            \
    static long name(long a, long b)                                                                                   \
    {                                                                                                                  \
        return result;                                                                                                 \
    }
EACH_OPERATOR(DEFINE_FUNCTION)

struct node {
    char sign;
    long value;
    struct node *left, *right;
};

static struct node *node_new(char sign, long value, struct node *left, struct node *right)
{
    struct node *node = malloc(sizeof *node);
    *node = (struct node){ sign, value, left, right };
    return node;
}

static struct node *parse_sum(const char **text);

static struct node *parse_factor(const char **text)
{
    if (**text == '(') {
        ++*text;
        struct node *inner = parse_sum(text);
        ++*text;
        return inner;
    }
    long value = 0;
    while (isdigit((unsigned char)**text))
        value = value * 10 + *(*text)++ - '0';
    return node_new('n', value, NULL, NULL);
}

static struct node *parse_product(const char **text)
{
    struct node *left = parse_factor(text);
    while (**text == '*' || **text == '/') {
        char sign = *(*text)++;
        left = node_new(sign, 0, left, parse_factor(text));
    }
    return left;
}

static struct node *parse_sum(const char **text)
{
    struct node *left = parse_product(text);
    while (**text == '+' || **text == '-') {
        char sign = *(*text)++;
        left = node_new(sign, 0, left, parse_product(text));
    }
    return left;
}

static long evaluate_and_free(struct node *node)
{
    long result = node->value;
    if (node->sign != 'n') {
        long left = evaluate_and_free(node->left), right = evaluate_and_free(node->right);
        switch (node->sign) {
#define APPLY(name, symbol, expression)                                                                                \
    case symbol:                                                                                                       \
        result = name(left, right);                                                                                    \
        break;
            EACH_OPERATOR(APPLY)
        }
    }
    free(node);
    return result;
}

static void multiply_matrices(void)
{
    enum { size = 60 };
    static double a[size][size], b[size][size], c[size][size];
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            for (int k = 0; k < size; k++)
                c[i][j] += a[i][k] * b[k][j];
    printf("%.1f %.1f\n", c[3][4], c[size - 1][size - 1]);
}

int main(void)
{
    long sum = 0;
    for (int i = 1; i < 5000; i++) {
        char text[200];
        snprintf(text, sizeof text, "(%d+%d)*(%d-7)/((3+%d)*2)-%d*(1+(2*(3+(4*%d))))", i, i * 3, i + 11, i % 17, i,
                 i % 5);
        const char *rest = text;
        sum += evaluate_and_free(parse_sum(&rest));
    }
    printf("%ld\n", sum);
    multiply_matrices();
    puts("done");
    return 0;
}
