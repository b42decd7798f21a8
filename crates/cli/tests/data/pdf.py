"""Writes the PDFs of this folder; needs reportlab."""

from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas


def document(name, *pages, title=None, font="Helvetica", **options):
    sheet = canvas.Canvas(name, pagesize=A4, invariant=1, **options)
    if title:
        sheet.setTitle(title)
    for page in pages:
        sheet.setFont(font, 12)
        if not page:
            sheet.rect(72, 72, 200, 200, fill=1)
        text = sheet.beginText(72, 780)
        for line in page:
            text.textLine(line)
        sheet.drawText(text)
        sheet.showPage()
    sheet.save()


document(
    "manual.pdf",
    [
        "Widget manual",
        "",
        "Widgets turn on the --error-on-warnings option.",
        "The first page speaks of zebras in the coordi-",
        "nate system of the savanna.",
        "",
        "$ widget --turn 45",
    ],
    [
        "2. Flux capacitors",
        "",
        "A flux capacitor needs 1.21 gigawatts (WidgetError::Overload).",
        "--- page 9 ---",
        "is a line of the document itself.",
    ],
    title="Widget manual",
    pageCompression=1,
)
document("locked.pdf", ["A secret zebra"], encrypt=StandardEncryption("secret", strength=128))
document(
    "owner.pdf",
    ["Open to everybody, changes are not"],
    encrypt=StandardEncryption("", ownerPassword="o", strength=128),
)
document("scan.pdf", [], [])
pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
document("japanese.pdf", ["日本語の文書を検索する"], font="HeiseiMin-W3")
